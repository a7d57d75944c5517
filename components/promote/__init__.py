"""Stage `promote`: make the candidate the champion if the verdict says so."""

"""Stage `compare`: the candidate against the champion, a verdict with reasons."""

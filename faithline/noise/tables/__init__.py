"""One pass per prepared table, and what several of them share."""

"""Public data sets in, one schema out: readers, splits, and the prepared tables that every later stage reads."""

"""Stage build_index: one vector per document."""

"""Stage prepare_data: the raw public sets in, the prepared tables out."""

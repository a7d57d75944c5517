"""What can be told of texts from their bytes, for whole batches at once; nothing here knows of sets or files."""

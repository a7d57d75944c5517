"""What the consumers of training data read: the tables of data/training, field by field."""

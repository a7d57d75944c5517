"""Finding evidence: the dense index."""

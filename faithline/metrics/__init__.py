"""Scores of answers and of retrieval, their bootstrap intervals and slices; pure functions, no torch, no files."""

"""Faithline: train, retrain and serve RAG agents that stay faithful to their evidence."""

__version__ = "0.1.0"

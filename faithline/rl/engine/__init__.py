"""Engines: what samples rows, scores them and learns from them."""

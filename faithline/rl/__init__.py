"""Proximal policy optimisation for several roles: rows, objective, one-machine engine, checkpoints, health watch."""

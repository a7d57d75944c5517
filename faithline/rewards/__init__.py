"""Rewards of reinforcement learning, as pure functions of texts; what trains on them is elsewhere."""

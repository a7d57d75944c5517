"""MARCH as a training system: its episodes for the PPO core, and what is tried before a training."""

"""Stage train_march: PPO of MARCH, on the warm-started roles."""

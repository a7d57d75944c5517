"""The agents' roles: prompts and parsers, pure functions."""

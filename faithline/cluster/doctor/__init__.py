"""`faithline doctor`: what this machine and its settings lack, one line each, with the fix."""

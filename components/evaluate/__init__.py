"""Stage `evaluate`: score the answers against the gold answers, with intervals, per set and slice."""

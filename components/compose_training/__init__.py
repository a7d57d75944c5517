"""The stage that makes one training set per consumer of the prepared data."""

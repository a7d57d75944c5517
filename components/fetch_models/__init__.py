"""Stage `fetch_models`."""

"""Stage `check_data`: measure the noise of the prepared data and open or shut the gate before anything is trained."""

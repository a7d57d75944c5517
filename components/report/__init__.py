"""Stage `report`: one self-contained HTML page of the run."""

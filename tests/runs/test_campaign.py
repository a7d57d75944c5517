"""A short fault campaign; `benchmarks/store_faults.py` is the long one."""

from __future__ import annotations

from pathlib import Path

from benchmarks.store_faults import campaign


def test_killed_runners_and_a_bad_server_give_right_runs(tmp_path: Path) -> None:
    found = campaign(tmp_path, "moto", runs=5, rate=0.06, workers=2, seed=5)
    # Whatever was killed or told to stop was tried again until it ended well.
    assert found.codes["0"] >= 15
    assert found.codes["-9"] > 0
    assert sum(found.faults.values()) > 0

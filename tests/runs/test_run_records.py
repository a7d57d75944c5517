"""What the store says of a run, damaged: refused where it counts, passed over where it is only for people."""

from __future__ import annotations

from pathlib import Path

import pytest

from faithline.pipeline.errors import ConfigError
from faithline.runs.layout import attempt_key, run_key
from faithline.runs.pin import check_same, pin_run, read_run
from faithline.runs.show import show
from faithline.store.objects import FolderStore


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "store")


@pytest.mark.parametrize(
    ("before", "after"), [(b"", None), (b"seed: 7", b"seed: : 7"), (rb"seed: 7\nsize: 2000\nnoisy: false\n", b"text")]
)
def test_a_damaged_run_document_exits_40(store: FolderStore, project: Path, before: bytes, after: bytes | None) -> None:
    good = pin_run(store, "R", project)
    check_same(good, project)
    found = store.read(run_key("R"))
    assert found is not None
    store.write(run_key("R"), b"" if after is None else found.content.replace(before, after))
    with pytest.raises(ConfigError, match="run's document is damaged"):
        read_run(store, "R")


def test_a_run_is_shown_in_spite_of_damaged_records(store: FolderStore, project: Path) -> None:
    pin_run(store, "R", project)
    store.write(attempt_key("R", "first", "a"), b'{"outco')
    ended = b'{"outcome": "failed", "exit_code": 20, "seconds": {"pin": 1.2, "stage": 2}}'
    store.write(attempt_key("R", "second", "a"), ended)
    assert list(show(project, store, "R")) == [
        "first   attempts: 1, the last one's record is damaged",
        "second  ended with 20 after 3 s, attempts: 1",
        "third   not started",
    ]

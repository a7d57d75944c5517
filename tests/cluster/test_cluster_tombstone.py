from __future__ import annotations

from pathlib import Path

import pytest

from faithline.cluster.tombstone import Tombstone, guarded, read_tombstone, tombstone_key
from faithline.pipeline.errors import ConfigError, Diverged, Preempted
from faithline.store.objects import FolderStore


class Attempts:
    """A stage that ends with the given codes, one per attempt."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)
        self.made = 0

    def __call__(self) -> int:
        self.made += 1
        return self.codes[self.made - 1]


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "store")


@pytest.mark.parametrize("code", [1, 10, 20, 30, 40, 50, 130])
def test_a_lasting_failure_ends_later_attempts_at_once_with_its_code(
    store: FolderStore, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    stage = Attempts(code, 0)
    assert guarded(store, "r1", "train", stage) == code
    assert guarded(store, "r1", "train", stage) == code
    assert stage.made == 1
    assert "runs/r1/train/tombstone.json" in capsys.readouterr().err
    # other stages and other runs are their own business
    assert guarded(store, "r1", "report", Attempts(0)) == 0
    assert guarded(store, "r2", "train", Attempts(0)) == 0


def test_a_passing_fault_may_be_tried_again(store: FolderStore) -> None:
    stage = Attempts(75, 75, 0)
    assert [guarded(store, "r", "train", stage) for _ in range(3)] == [75, 75, 0]
    assert read_tombstone(store, "r", "train") is None


def test_removed_tombstone_lets_the_stage_run(store: FolderStore) -> None:
    stage = Attempts(40, 0)
    guarded(store, "r", "train", stage)
    store.delete(tombstone_key("r", "train"))
    assert guarded(store, "r", "train", stage) == 0


def test_raised_errors_are_passed_on_with_their_code_in_the_store(store: FolderStore) -> None:
    def diverged() -> int:
        raise Diverged("loss is NaN at step 7")

    def preempted() -> int:
        raise Preempted("told to stop")

    def bug() -> int:
        raise ZeroDivisionError("by zero")

    with pytest.raises(Diverged):
        guarded(store, "r", "a", diverged)
    assert read_tombstone(store, "r", "a") == Tombstone(30, "loss is NaN at step 7")
    with pytest.raises(Preempted):
        guarded(store, "r", "b", preempted)
    assert read_tombstone(store, "r", "b") is None
    with pytest.raises(ZeroDivisionError):
        guarded(store, "r", "c", bug)
    assert read_tombstone(store, "r", "c") == Tombstone(1, "by zero")


def test_a_store_out_of_reach_does_not_hide_the_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class Broken(FolderStore):
        def write(self, key: str, content: bytes, *, expect: str | None = None) -> bool:
            raise ConnectionError("no route")

    assert guarded(Broken(tmp_path), "r", "train", Attempts(30)) == 30
    assert "no tombstone" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"null", b'{"exit_code": "x", "what": ""}'])
def test_a_damaged_tombstone_exits_40(store: FolderStore, content: bytes) -> None:
    store.write(tombstone_key("R", "train"), content)
    with pytest.raises(ConfigError, match="tombstone is damaged"):
        guarded(store, "R", "train", Attempts(0))

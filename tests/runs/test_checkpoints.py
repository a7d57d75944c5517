"""Checkpoints: the newest complete one, only changed shards sent, damage noticed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from faithline.pipeline.errors import ConfigError, DataInvalid
from faithline.store.checkpoints import Checkpoints
from faithline.store.objects import FolderStore, Store


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "store")


@pytest.fixture
def training(tmp_path: Path) -> Path:
    folder = tmp_path / "training"
    (folder / "optimizer").mkdir(parents=True)
    for number in range(4):
        (folder / f"model-{number}.safetensors").write_bytes(bytes([number]) * 1000)
    (folder / "optimizer" / "state.safetensors").write_bytes(b"o" * 500)
    return folder


def checkpoints(store: Store, identity: str = "a", keep: int = 2) -> Checkpoints:
    return Checkpoints(store, identity=identity, keep=keep)


def content(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_only_what_changed_is_read_and_sent(store: FolderStore, training: Path, tmp_path: Path) -> None:
    mine = checkpoints(store)
    first = mine.save(training, 5)
    assert (first.hashed, first.sent, first.sent_bytes) == (5, 5, 4500)
    (training / "model-2.safetensors").write_bytes(b"new" * 10)
    second = mine.save(training, 10)
    assert (second.hashed, second.sent, second.sent_bytes) == (1, 1, 30)
    other = checkpoints(store)  # another process: reads everything once, sends nothing
    assert other.newest() == second.checkpoint
    fetched = tmp_path / "resumed"
    assert other.fetch(fetched) == second.checkpoint
    assert content(fetched) == content(training)
    third = other.save(fetched, 15)
    assert (third.hashed, third.sent) == (0, 0)


def test_old_ones_go_and_take_along_only_what_nobody_needs(store: FolderStore, training: Path) -> None:
    mine = checkpoints(store)
    for step in range(1, 5):
        (training / "model-0.safetensors").write_bytes(b"step %d" % step)
        mine.save(training, step)
    assert [entry.key for entry in store.list("manifests/")] == [f"manifests/00000000000{n}.json" for n in (3, 4)]
    assert len(list(store.list("shards/"))) == 4 + 2


def test_incomplete_and_damaged_ones_give_way_to_older(store: FolderStore, training: Path, tmp_path: Path) -> None:
    mine = checkpoints(store, keep=3)
    good = mine.save(training, 1).checkpoint
    for step in (2, 3):
        (training / "model-1.safetensors").write_bytes(b"step %d" % step)
        mine.save(training, step)
    shard = {step: checkpoint_shard(store, step) for step in (2, 3)}
    store.delete(shard[3])  # lost
    newest = mine.newest()
    assert newest is not None
    assert newest.step == 2
    store.write(shard[2], b"STEP 2")  # same size, other content: only fetching it shows
    assert mine.fetch(tmp_path / "out") == good
    assert (tmp_path / "out" / "model-1.safetensors").read_bytes() == b"\1" * 1000
    store.write("manifests/000000000009.json", b'{"torn')
    assert mine.fetch(tmp_path / "out") == good
    assert mine.fetch(tmp_path / "out", step=2) is None


def checkpoint_shard(store: FolderStore, step: int) -> str:
    import hashlib

    return "shards/" + hashlib.sha256(b"step %d" % step).hexdigest()


def test_a_save_that_breaks_off_leaves_the_last_one(store: FolderStore, training: Path) -> None:
    class Broken(FolderStore):
        def upload(self, key: str, path: Path, md5: str | None = None) -> None:
            raise OSError(28, "No space left on device")

    last = checkpoints(store).save(training, 1).checkpoint
    (training / "model-1.safetensors").write_bytes(b"changed")
    with pytest.raises(OSError, match="No space left"):
        checkpoints(Broken(Path(store.url))).save(training, 2)
    assert checkpoints(store).newest() == last


def test_another_training_is_passed_over_and_replaced(store: FolderStore, training: Path) -> None:
    checkpoints(store, "a").save(training, 9)
    other = checkpoints(store, "b")
    assert other.newest() is None
    assert other.fetch(training.parent / "none") is None
    other.save(training, 1)
    assert checkpoints(store, "a").newest() is None


def test_manifests_that_point_outside_are_not_followed(store: FolderStore, tmp_path: Path) -> None:
    store.write("shards/x", b"")
    store.write("manifests/1.json", b'{"identity": "a", "step": 1, "shards": {"../../evil": ["x", 0]}}')
    assert checkpoints(store).newest() is None


def test_bad_input(store: FolderStore, training: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        checkpoints(store, keep=0)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataInvalid, match="folder is empty"):
        checkpoints(store).save(tmp_path / "empty", 1)
    (training / "model-1.safetensors").write_bytes(b"")
    with pytest.raises(DataInvalid, match=r"model-1\.safetensors is empty"):
        checkpoints(store).save(training, 1)


def test_on_s3(bucket: str, training: Path, tmp_path: Path) -> None:
    from faithline.store.objects import open_store

    mine = checkpoints(open_store(f"s3://{bucket}/runs/R/train/checkpoints"))
    saved = mine.save(training, 3).checkpoint
    assert mine.fetch(tmp_path / "out") == saved
    assert content(tmp_path / "out") == content(training)
    os.utime(training / "model-1.safetensors")
    assert (mine.save(training, 4).hashed, mine.save(training, 5).sent) == (1, 0)


def test_shards_are_described_before_a_manifest_counts(store: FolderStore, training: Path) -> None:
    """Order of writes: every shard, then the manifest."""
    written: list[str] = []

    class Noting(FolderStore):
        def upload(self, key: str, path: Path, md5: str | None = None) -> None:
            super().upload(key, path, md5)
            written.append(key)

        def write(self, key: str, content: bytes, *, expect: str | None = None) -> bool:
            written.append(key)
            return super().write(key, content, expect=expect)

    checkpoints(Noting(Path(store.url))).save(training, 1)
    assert written[-1] == "manifests/000000000001.json"
    assert len(written) == 6

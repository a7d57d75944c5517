"""Checkpoints of a training, outside DVC's outputs (DVC deletes those before a stage runs), in a store of objects.

A checkpoint is a folder of shards (safetensors and small files). Its manifest lists every shard with its SHA-256 and is
written last: no manifest, no checkpoint. Shards are objects named by their digest, so a shard that did not change since
an earlier checkpoint is not sent again, and one whose file did not change (inode, size, time) is not even read again. A
manifest names what the training was started from; checkpoints of another training in the same place are passed over.
What is fetched is checked, and a damaged checkpoint gives way to the one before it.

    <url>/manifests/<step>.json    {identity, step, shards: {path: [sha256, size]}}
    <url>/shards/<sha256>
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeVar

from faithline.pipeline.errors import ConfigError, DataInvalid
from faithline.pipeline.records import file_digest
from faithline.store.objects import Store

__all__ = ["Checkpoint", "Checkpoints"]

T = TypeVar("T")
R = TypeVar("R")
THREADS = 8


@dataclass(frozen=True)
class Checkpoint:
    """A complete checkpoint in the store."""

    step: int
    shards: dict[str, tuple[str, int]]
    """Relative path → SHA-256 and size of each file."""

    @property
    def size(self) -> int:
        """Bytes of all shards."""
        return sum(size for _, size in self.shards.values())


@dataclass(frozen=True)
class Saved:
    """What saving a checkpoint took."""

    checkpoint: Checkpoint
    hashed: int
    """Shards that were read."""
    sent: int
    """Shards that were sent."""
    sent_bytes: int


class Checkpoints:
    """The checkpoints of one training.

    Args:
        store: Where they are (`faithline.store.objects.open_store`); a run's stage is told by `FAITHLINE_CHECKPOINTS`.
        identity: Digest of everything that decides the training's course: params, inputs, world size.
        keep: How many checkpoints to keep.
    """

    def __init__(self, store: Store, *, identity: str, keep: int) -> None:
        if keep < 1:
            raise ConfigError(f"keep {keep} checkpoints: at least 1 must be kept", where="checkpoints")
        self._store = store
        self._identity = identity
        self._keep = keep
        self._digests: dict[tuple[int, int, int, int], str] = {}

    def save(self, folder: Path, step: int) -> Saved:
        """Save a folder as the checkpoint of `step`; the folder must not change meanwhile.

        Raises:
            DataInvalid: If the folder is empty or has an empty safetensors file.
        """
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        hollow = [path for path in files if path.suffix == ".safetensors" and path.stat().st_size == 0]
        if not files or hollow:
            what = f"{hollow[0].name} is empty" if hollow else "the folder is empty"
            raise DataInvalid(f"no checkpoint to save: {what}", where=str(folder))
        known = {self._identity_of(path) for path in files} & self._digests.keys()
        digests = dict(zip(files, _parallel(self._digest, files), strict=True))
        shards = {
            path.relative_to(folder).as_posix(): (digest, path.stat().st_size) for path, digest in digests.items()
        }
        by_digest = {digest: path for path, digest in digests.items()}
        new = [(digest, path) for digest, path in by_digest.items() if not self._has(digest, path.stat().st_size)]
        _parallel(lambda item: self._store.upload(f"shards/{item[0]}", item[1]), new)
        checkpoint = Checkpoint(step, shards)
        document = {"identity": self._identity, "step": step, "shards": shards}
        self._store.write(_manifest_key(step), json.dumps(document, sort_keys=True).encode())
        self._drop_old()
        return Saved(checkpoint, len(files) - len(known), len(new), sum(path.stat().st_size for _, path in new))

    def newest(self) -> Checkpoint | None:
        """Return the newest complete checkpoint of this training, None if there is none."""
        return next(iter(self._complete()), None)

    def fetch(self, folder: Path, *, step: int | None = None) -> Checkpoint | None:
        """Bring the newest checkpoint into a new folder, an older one if that is damaged.

        Args:
            folder: Where to; replaced as a whole once everything is there and checked.
            step: Take this one only.

        Returns:
            The checkpoint that is now in `folder`, None if there is none.
        """
        staged = folder.with_name(f".{folder.name}.staging-{os.getpid()}")
        for checkpoint in self._complete():
            if step is not None and checkpoint.step != step:
                continue
            shutil.rmtree(staged, ignore_errors=True)
            try:
                if all(_parallel(lambda item: self._fetch_one(staged, *item), checkpoint.shards.items())):
                    shutil.rmtree(folder, ignore_errors=True)
                    staged.rename(folder)
                    for name, (digest, _) in checkpoint.shards.items():
                        self._digests[self._identity_of(folder / name)] = digest
                    return checkpoint
            finally:
                shutil.rmtree(staged, ignore_errors=True)
        return None

    def _fetch_one(self, staged: Path, name: str, shard: tuple[str, int]) -> bool:
        target = staged / name
        target.parent.mkdir(parents=True, exist_ok=True)
        return self._store.download(f"shards/{shard[0]}", target) and file_digest(target) == shard[0]

    def _complete(self) -> Iterable[Checkpoint]:
        """Yield this training's checkpoints whose shards are all there with their sizes, the newest first."""
        sizes: dict[str, int] | None = None
        for checkpoint in sorted(self._manifests(), key=lambda one: one.step, reverse=True):
            if sizes is None:
                sizes = {entry.key.removeprefix("shards/"): entry.size for entry in self._store.list("shards/")}
            if all(sizes.get(digest) == size for digest, size in checkpoint.shards.values()):
                yield checkpoint

    def _manifests(self) -> Iterable[Checkpoint]:
        for entry in list(self._store.list("manifests/")):
            found = self._store.read(entry.key)
            checkpoint = _parse(found.content, self._identity) if found else None
            if checkpoint is not None:
                yield checkpoint

    def _drop_old(self) -> None:
        """Remove manifests beyond those kept, other trainings' too, then the shards that none of the rest names."""
        ours = sorted((one for one in self._manifests()), key=lambda one: one.step, reverse=True)[: self._keep]
        kept = {_manifest_key(one.step) for one in ours}
        dropped = [entry.key for entry in list(self._store.list("manifests/")) if entry.key not in kept]
        for key in dropped:
            self._store.delete(key)
        if dropped:
            named = {digest for one in ours for digest, _ in one.shards.values()}
            for entry in list(self._store.list("shards/")):
                if entry.key.removeprefix("shards/") not in named:
                    self._store.delete(entry.key)

    def _has(self, digest: str, size: int) -> bool:
        there = self._store.stat(f"shards/{digest}")
        return there is not None and there.size == size

    def _digest(self, path: Path) -> str:
        identity = self._identity_of(path)
        if identity not in self._digests:
            self._digests[identity] = file_digest(path)
        return self._digests[identity]

    @staticmethod
    def _identity_of(path: Path) -> tuple[int, int, int, int]:
        status = path.stat()
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _manifest_key(step: int) -> str:
    return f"manifests/{step:012d}.json"


def _parse(content: bytes, identity: str) -> Checkpoint | None:
    """Return a manifest's checkpoint, None if it is damaged or another training's."""
    try:
        document = json.loads(content)
        shards = {str(name): (str(digest), int(size)) for name, (digest, size) in document["shards"].items()}
        step = int(document["step"])
        ours = document["identity"] == identity
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    inside = all(not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts for name in shards)
    return Checkpoint(step, shards) if ours and inside and shards else None


def _parallel(work: Callable[[T], R], items: Iterable[T]) -> list[R]:
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(work, items))

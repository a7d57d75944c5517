"""Objects of the DVC remote, moved between the store and DVC's cache on this machine.

An object is named by the MD5 of its content, so both ends can be checked, and are: what is fetched is hashed before it
gets its name in the cache; what is in the store already counts only with the right size (and MD5, where the server
tells it), so a torn upload of an earlier attempt is sent again. A folder's `.dir` object, the list of its files, goes
last. DVC's own transfer is not used: it takes what it fetched for right unless told otherwise, takes any object of the
right name in the remote for right, sends the whole run cache each time, and brings a second S3 client (1.3 s of
processor time to load).
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeVar

from faithline.pipeline.errors import EnvironmentMismatch
from faithline.runs.layout import object_key
from faithline.store.objects import Entry, Store

__all__ = ["Cache", "Moved", "fetch", "md5_of", "push"]

T = TypeVar("T")
THREADS = 16
TRIES = 3
"""Downloads of one object before its content is blamed on the store rather than on the way."""


@dataclass
class Moved:
    """How much went over the wire."""

    objects: int = 0
    size: int = 0
    present: int = 0
    """Objects that were at the other end already."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()

    def count(self, size: int | None) -> None:
        """Count one object; None: it was there."""
        with self._lock:
            if size is None:
                self.present += 1
            else:
                self.objects += 1
                self.size += size


class Cache:
    """DVC's cache folder (`files/md5`): read-only files named by their MD5."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, md5: str) -> Path:
        """Return where an object is or would be."""
        return self.folder / md5[:2] / md5[2:]

    def has(self, md5: str) -> bool:
        """Whether an object is there; DVC and `fetch` give it its name only when it is whole."""
        return self.path(md5).is_file()

    def files(self, md5: str) -> dict[str, str]:
        """Return relative path → MD5 of the files of a folder whose `.dir` object is in the cache.

        Raises:
            EnvironmentMismatch: If it is no list of files below the folder.
        """
        try:
            found = {str(entry["relpath"]): str(entry["md5"]) for entry in json.loads(self.path(md5).read_bytes())}
        except (ValueError, KeyError, TypeError) as error:
            raise EnvironmentMismatch(f"no list of files: {error}", where=str(self.path(md5))) from None
        for path in map(PurePosixPath, found):
            if path.is_absolute() or ".." in path.parts:
                raise EnvironmentMismatch(f"a list of files leads out of its folder: {path}", where=str(self.path(md5)))
        return found

    def expand(self, hashes: Iterable[str]) -> set[str]:
        """Return all hashes, those of files in folders too; the folders' lists must be in the cache."""
        found = set(hashes)
        for md5 in [one for one in found if one.endswith(".dir")]:
            found.update(self.files(md5).values())
        return found


def fetch(store: Store, cache: Cache, hashes: Iterable[str], moved: Moved) -> None:
    """Bring objects into the cache; folders' lists only, not their files (see `Cache.expand`).

    Raises:
        EnvironmentMismatch: If the store lacks one, or holds other content than its name says.
    """
    missing = [md5 for md5 in sorted(set(hashes)) if not cache.has(md5)]
    for path in {cache.path(md5).parent for md5 in missing}:
        path.mkdir(parents=True, exist_ok=True)
    _in_threads(lambda md5: moved.count(_fetch_one(store, cache, md5)), missing)


def _fetch_one(store: Store, cache: Cache, md5: str) -> int:
    key, target = object_key(md5), cache.path(md5)
    staged = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        for _ in range(TRIES):
            if not store.download(key, staged):
                raise EnvironmentMismatch(
                    "an object is not in the store",
                    where=f"{store.url}/{key}",
                    next_step="was the store cleaned? start a new run with another id",
                )
            if md5_of(staged) == md5.removesuffix(".dir"):
                size = staged.stat().st_size
                staged.chmod(0o444)
                staged.replace(target)
                return size
    finally:
        staged.unlink(missing_ok=True)
    raise EnvironmentMismatch(
        f"an object in the store is damaged: its content is not what its name says ({TRIES} downloads)",
        where=f"{store.url}/{key}",
        next_step="delete it, then run the stage that made it again in a new run",
    )


def push(store: Store, sources: Mapping[str, Path], moved: Moved) -> None:
    """Bring files into the store under their MD5, folders' lists last; what is there and whole is not sent.

    Args:
        store: Where to.
        sources: MD5 (with `.dir` for folders' lists) → file that has it.
        moved: Counts what is sent.

    Raises:
        EnvironmentMismatch: If a file is not what its name says.
    """

    def one(md5: str) -> None:
        path = sources[md5]
        there = store.stat(object_key(md5))
        if there is not None and _whole(there, md5, path):
            moved.count(None)
            return
        if md5_of(path) != md5.removesuffix(".dir"):
            raise EnvironmentMismatch(
                "a file changed after DVC hashed it",
                where=str(path),
                next_step="if the disk is sound, remove the file and run the stage again",
            )
        for _ in range(TRIES):
            store.upload(object_key(md5), path, md5.removesuffix(".dir"))
            there = store.stat(object_key(md5))
            if there is not None and _whole(there, md5, path):
                moved.count(path.stat().st_size)
                return
        raise EnvironmentMismatch(
            "the store confirmed an upload and holds something else", where=f"{store.url}/{object_key(md5)}"
        )

    for lists in (False, True):
        _in_threads(one, sorted(md5 for md5 in sources if md5.endswith(".dir") is lists))


def _whole(there: Entry, md5: str, path: Path) -> bool:
    """Whether an object can be taken for what its name says."""
    return there.size == path.stat().st_size and there.md5 in {None, md5.removesuffix(".dir")}


def md5_of(path: Path) -> str:
    """MD5 of a file, hex: DVC's name for its content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _in_threads(work: Callable[[T], None], items: list[T]) -> None:
    """Work on all items; the first failure, or a stop, cancels those that have not begun and waits for none."""
    pool = ThreadPoolExecutor(THREADS)
    try:
        for future in [pool.submit(work, item) for item in items]:
            future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)

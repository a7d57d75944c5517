"""The store of runs: one flat space of objects, on S3 or in a folder that all machines mount.

Every object is written whole or not at all, so a reader never sees half of one. A write may carry a condition (nothing
is there yet, or still the version that was read); servers that do not know conditions ignore them, which callers have
to find out (`faithline.runs.lease`). Ages are measured by the store's own clock, never by comparing two machines'.
Passing faults are retried inside and surface as `Preempted`, wrong settings as `ConfigError`.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from faithline.pipeline.errors import ConfigError

__all__ = ["ABSENT", "Entry", "FolderStore", "Object", "Store", "open_store"]

ABSENT = ""
"""The version of an object that is not there."""
_LOCK = ".lock"


@dataclass(frozen=True)
class Entry:
    """What a store says of an object without its content."""

    key: str
    size: int
    md5: str | None
    """MD5 of the content where the store knows it: most S3 objects that were sent in one piece."""
    modified: float
    """Seconds since the epoch, by the store's clock."""


@dataclass(frozen=True)
class Object:
    """A small object with its content."""

    content: bytes
    version: str
    age_s: float
    """Seconds since it was written, by the store's clock at both ends."""


class Store(Protocol):
    """A place for objects; keys are relative to `url`."""

    @property
    def url(self) -> str:
        """Where it is, as the user wrote it."""

    def read(self, key: str) -> Object | None:
        """Return a small object, None if there is none."""

    def write(self, key: str, content: bytes, *, expect: str | None = None) -> bool:
        """Write a small object.

        Args:
            key: The object.
            content: Its whole content.
            expect: Write only if this is the object's version (`ABSENT`: only if there is none); None: in any case.

        Returns:
            Whether it was written.
        """

    def stat(self, key: str) -> Entry | None:
        """Describe an object, None if there is none."""

    def list(self, prefix: str) -> Iterator[Entry]:
        """Describe every object whose key starts with `prefix`."""

    def upload(self, key: str, path: Path, md5: str | None = None) -> None:
        """Copy a file of any size into the store; the server checks what arrives, against `md5` where it can."""

    def download(self, key: str, path: Path) -> bool:
        """Copy an object of any size to `path`, whole or not at all; False if there is none."""

    def delete(self, key: str) -> None:
        """Remove an object; nothing happens if there is none."""

    def clear_uploads(self, prefix: str, older_than_s: float) -> int:
        """Remove what uploads below `prefix` that were killed left behind, if old enough; return how many."""


def open_store(url: str) -> Store:
    """Open `s3://bucket/prefix`, `file:///folder` or a folder's path.

    Raises:
        ConfigError: If the address is none of these.
    """
    parts = urlsplit(url)
    if parts.scheme == "s3" and parts.netloc:
        from faithline.store.s3 import S3Store

        return S3Store(url, parts.netloc, parts.path.strip("/"))
    if parts.scheme == "file" and not parts.netloc and parts.path.startswith("/"):
        return FolderStore(Path(parts.path))
    if not parts.scheme and url:
        return FolderStore(Path(url).absolute())
    raise ConfigError(f"`{url}` is no store", where="--store", next_step="use s3://BUCKET/PREFIX or a folder's path")


class FolderStore:
    """Objects as files below a folder, for one machine or a shared file system with working locks (NFS 4)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def url(self) -> str:
        """The folder."""
        return str(self._folder)

    def read(self, key: str) -> Object | None:
        """Return a file's content."""
        try:
            with (self._folder / key).open("rb") as file:
                content, written = file.read(), os.fstat(file.fileno()).st_mtime
        except (FileNotFoundError, NotADirectoryError):
            return None
        return Object(content, hashlib.md5(content, usedforsecurity=False).hexdigest(), self._now() - written)

    def write(self, key: str, content: bytes, *, expect: str | None = None) -> bool:
        """Write a file through a temporary name, conditions checked under a lock of the whole store."""
        with self._locked():
            if expect is not None:
                found = self.read(key)
                if (found.version if found else ABSENT) != expect:
                    return False
            with self._staged(key) as staged:
                staged.write_bytes(content)
        return True

    def stat(self, key: str) -> Entry | None:
        """Describe a file; its MD5 would mean reading it."""
        try:
            status = (self._folder / key).stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return Entry(key, status.st_size, None, status.st_mtime)

    def list(self, prefix: str) -> Iterator[Entry]:
        """Describe files, temporary ones left out."""
        base = self._folder / prefix
        start = base if prefix.endswith("/") or not prefix else base.parent
        files = (Path(folder, name) for folder, _, names in os.walk(start) for name in names)
        keys = (path.relative_to(self._folder).as_posix() for path in files if not path.name.startswith(".part-"))
        for key in sorted(key for key in keys if key.startswith(prefix) and key != _LOCK):
            entry = self.stat(key)
            if entry is not None:
                yield entry

    def upload(self, key: str, path: Path, md5: str | None = None) -> None:  # noqa: ARG002 - S3 needs it
        """Copy a file in."""
        with self._staged(key) as staged:
            shutil.copyfile(path, staged)

    def download(self, key: str, path: Path) -> bool:
        """Copy a file out."""
        source, staged = self._folder / key, path.with_name(f".part-{path.name}.{os.getpid()}")
        if not source.is_file():
            return False
        try:
            shutil.copyfile(source, staged)
            staged.replace(path)
        finally:
            staged.unlink(missing_ok=True)
        return True

    def delete(self, key: str) -> None:
        """Remove a file."""
        (self._folder / key).unlink(missing_ok=True)

    def clear_uploads(self, prefix: str, older_than_s: float) -> int:
        """Remove old temporary files."""
        now, cleared = self._now(), 0
        for folder, _, names in os.walk(self._folder / prefix):
            for path in (Path(folder, name) for name in names if name.startswith(".part-")):
                if now - path.stat().st_mtime >= older_than_s:
                    path.unlink(missing_ok=True)
                    cleared += 1
        return cleared

    @contextmanager
    def _staged(self, key: str) -> Iterator[Path]:
        target = self._folder / key
        target.parent.mkdir(parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(prefix=".part-", dir=target.parent)
        os.close(number)
        staged = Path(name)
        try:
            yield staged
            staged.replace(target)
        finally:
            staged.unlink(missing_ok=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / _LOCK).open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _now(self) -> float:
        """Ask the file server, whose clock wrote the other times."""
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            with tempfile.TemporaryFile(dir=self._folder) as file:
                file.write(b"?")
                file.flush()
                return os.fstat(file.fileno()).st_mtime
        except OSError:
            return time.time()

"""The machine a model is fetched on: everything about it that the sources need, passed in rather than looked up."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from faithline.pipeline.errors import EnvironmentMismatch
from faithline.pipeline.progress import Progress

MIB = 1024**2
SPARE_BYTES = 64 * MIB
"""Left free beyond what is needed: records, logs and other processes write too."""


class Log(Protocol):
    """The part of the stage's log that sources use."""

    def info(self, event: str, **fields: object) -> None:
        """Log a normal event."""

    def warning(self, event: str, **fields: object) -> None:
        """Log something a reader should look at."""


@dataclass(frozen=True)
class Site:
    """Where and how to fetch."""

    root: Path
    """The project folder; relative paths of `path` sources start here."""
    cache: Path
    """User cache shared by all clones."""
    offline: bool
    """The hub must not be contacted (`HF_HUB_OFFLINE`)."""
    log: Log
    progress: Callable[[int, str, str], AbstractContextManager[Progress]]
    """`(total, unit, label)` → progress reporter."""


def cache_folder(environment: Mapping[str, str], home: Path) -> Path:
    """Return `$XDG_CACHE_HOME/faithline`, or `~/.cache/faithline`; a relative setting is ignored, as XDG demands."""
    base = Path(environment.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else home / ".cache") / "faithline"


def require_space(folder: Path, needed_bytes: int, what: str) -> None:
    """Check that `folder`'s disk can take `needed_bytes` more.

    Raises:
        EnvironmentMismatch: If it cannot; the message holds both numbers.
    """
    free = shutil.disk_usage(folder).free
    needed = needed_bytes + SPARE_BYTES
    if free < needed:
        raise EnvironmentMismatch(
            f"not enough disk space {what}: {needed // MIB + 1} MiB needed, {free // MIB} MiB free",
            where=str(folder),
            next_step="free space, or move the project (for the cache: set XDG_CACHE_HOME), then run it again",
        )

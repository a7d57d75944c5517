"""The machine a model is fetched on: everything about it that the sources need, passed in rather than looked up."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from faithline.pipeline.progress import Progress


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

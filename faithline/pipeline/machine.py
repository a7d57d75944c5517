"""What a stage may ask of the machine it runs on: the user cache, disk space, whether the hub may be contacted."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from faithline.pipeline.errors import EnvironmentMismatch

MIB = 1024**2
SPARE_BYTES = 64 * MIB
"""Left free beyond what is needed: records, logs and other processes write too."""


def cache_folder(environment: Mapping[str, str], home: Path) -> Path:
    """Return `$XDG_CACHE_HOME/faithline`, or `~/.cache/faithline`; a relative setting is ignored, as XDG demands."""
    base = Path(environment.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else home / ".cache") / "faithline"


def hub_offline(environment: Mapping[str, str]) -> bool:
    """Whether `HF_HUB_OFFLINE` forbids contacting the hub, read as the hub's own client reads it."""
    return environment.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}


def require_space(folder: Path, needed_bytes: int, what: str) -> None:
    """Check that `folder`'s disk can take `needed_bytes` more, with some to spare.

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

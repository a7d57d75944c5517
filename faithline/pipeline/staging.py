"""Staged outputs: written to hidden siblings, renamed into place together when the stage has succeeded."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import TracebackType

from faithline.pipeline.errors import ConfigError, EnvironmentMismatch
from faithline.pipeline.graph import PIPELINE_FILE, Stage

MARK = ".staging-"
MIN_FREE_BYTES = 64 * 1024**2
"""Below this a stage does not start: it could not even write its record and logs."""


class Staging:
    """The outputs of one run of one stage.

    An output without a file suffix is a folder. Entering checks that every parent folder can be written and clears
    what killed runs left behind; leaving removes what was not committed.
    """

    def __init__(self, root: Path, stage: Stage) -> None:
        self._root = root
        self._stage = stage
        self._places = {path: _sibling(root / path, os.getpid()) for path in stage.products}

    def __enter__(self) -> Staging:
        for path in self._stage.products:
            parent = (self._root / path).parent
            parent.mkdir(parents=True, exist_ok=True)
            if not os.access(parent, os.W_OK):
                raise EnvironmentMismatch(
                    "the output folder cannot be written", where=str(parent), next_step="make it writable"
                )
            if shutil.disk_usage(parent).free < MIN_FREE_BYTES:
                raise EnvironmentMismatch(
                    f"less than {MIN_FREE_BYTES >> 20} MiB of disk space left",
                    where=str(parent),
                    next_step="free space",
                )
            _clear_stale(self._root / path)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for place in self._places.values():
            _remove(place)

    def place(self, path: str) -> Path:
        """Return the staging path of a declared output; folders are created.

        Raises:
            ConfigError: If `dvc.yaml` does not declare the output.
        """
        if path not in self._places:
            raise ConfigError(
                f"`{path}` is not an output of stage {self._stage.name}",
                where=f"{PIPELINE_FILE}: {self._stage.name}",
                next_step="add it to the stage's outs, metrics or plots",
            )
        place = self._places[path]
        if not Path(path).suffix:
            place.mkdir(exist_ok=True)
        return place

    def finished_folders(self) -> list[Path]:
        """Return the staged output folders.

        Raises:
            ConfigError: If a declared output was not written.
        """
        for path, place in self._places.items():
            if not place.exists() or (place.is_dir() and not any(place.iterdir())):
                raise ConfigError(
                    f"stage {self._stage.name} did not write `{path}`",
                    where=f"{PIPELINE_FILE}: {self._stage.name}",
                    next_step="remove it from the stage's outs, or write it",
                )
        return [place for place in self._places.values() if place.is_dir()]

    def commit(self) -> None:
        """Rename every staged output into place, folders first."""
        for path, place in sorted(self._places.items(), key=lambda item: item[1].is_file()):
            final = self._root / path
            if final.is_dir() and not final.is_symlink():
                old = _sibling(final, os.getpid(), "old-")
                final.rename(old)
                place.rename(final)
                shutil.rmtree(old)
            else:
                place.replace(final)


def _sibling(path: Path, pid: int, prefix: str = "") -> Path:
    return path.with_name(f".{path.stem}{MARK}{prefix}{pid}{path.suffix}")


def _remove(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)


def _clear_stale(path: Path) -> None:
    """Remove what runs that were killed outright left beside `path`."""
    for place in path.parent.glob(f".{path.stem}{MARK}*{path.suffix}"):
        number = place.name.removesuffix(path.suffix).rpartition("-")[2]
        if not number.isdigit() or not _alive(int(number)):
            _remove(place)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

"""`faithline data lock`: download every remote file that the settings name, and write down what it is.

Entries of other files stay: the lock serves all patches of the settings (conf/*.yaml), of which one is applied at a
time. The file is replaced only when every download has succeeded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from faithline.data.remote import LOCK_FILE, Locked, is_remote, measure, read_lock, write_lock
from faithline.data.source_files import remote_files
from faithline.pipeline.errors import ConfigError
from faithline.pipeline.yaml import read_mapping

__all__ = ["lock_sources"]

_PARAMS_FILE = "params.yaml"


class _Source(msgspec.Struct):
    """What of a source decides which files are fetched."""

    format: str
    path: str
    documents: str | None = None


class _Section(msgspec.Struct):
    sources: list[_Source]


def lock_sources(root: Path, cache: Path, report: Callable[[str, Locked, Locked | None], None]) -> int:
    """Write the entries of all remote files of `prepare_data.sources`.

    Args:
        root: The project folder.
        cache: The user cache; the files stay there for the stage.
        report: Called after each file with its address, what it is, and what the lock said before.

    Returns:
        The number of remote files.

    Raises:
        ConfigError: If params.yaml has no such section, or the lock file is broken.
        As `faithline.data.remote.measure`.
    """
    lock = read_lock(root / LOCK_FILE) if (root / LOCK_FILE).exists() else {}
    uris = list(dict.fromkeys(_remote_uris(root)))
    for uri in uris:
        found = measure(uri, cache, _silent)
        report(uri, found, lock.get(uri))
        lock[uri] = found
    write_lock(root / LOCK_FILE, lock)
    return len(uris)


def _remote_uris(root: Path) -> Iterator[str]:
    values = read_mapping(root / _PARAMS_FILE)
    try:
        section = msgspec.convert(values.get("prepare_data"), _Section)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"no sources: {error}", where=f"{_PARAMS_FILE}: prepare_data", next_step="run `faithline params check`"
        ) from None
    for source in section.sources:
        if is_remote(source.path):
            yield from remote_files(source.format, source.path)
        if source.documents is not None and is_remote(source.documents):
            yield source.documents


def _silent(_: int) -> None:
    """A finished file is reported; the command shows no bar."""

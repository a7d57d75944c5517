"""Where the sources of the settings lie on this machine: local paths as they are, remote ones fetched by checksum.

A remote file is read through a link under its own name, in a scratch folder per source: names decide (batch and split
numbers, sources.json), while the cache knows contents only. Messages name the address instead of the link.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from components.prepare_data.params import PrepareData
from faithline.data.raw_source import RawSource
from faithline.data.remote import is_remote
from faithline.data.source_files import remote_files
from faithline.data.source_settings import SourceSettings
from faithline.pipeline.errors import ConfigError

__all__ = ["local_sources", "remote_sources", "remote_uris"]


def remote_uris(settings: PrepareData) -> list[str]:
    """Return the addresses of all remote files that the settings name."""
    return [uri for source in settings.sources for uris in _remote(source) for uri in uris]


def local_sources(settings: PrepareData, dep: Callable[[str], Path]) -> dict[str, RawSource]:
    """Return the sources without any remote file, by name.

    Args:
        settings: The settings.
        dep: Resolves a path and checks that it is a declared dependency.

    Raises:
        ConfigError: If two sources share a name, or a path is no declared dependency.
        DataInvalid: If a path is missing.
    """
    found: dict[str, RawSource] = {}
    for source in settings.sources:
        if sum(other.name == source.name for other in settings.sources) > 1:
            raise ConfigError(
                f"two sources are named {source.name}",
                where="params.yaml: prepare_data.sources",
                next_step="give each source a name of its own: it is the first part of every id",
            )
        if not any(_remote(source)):
            documents = None if source.documents is None else dep(_rooted(settings, source.documents))
            found[source.name] = RawSource(source, dep(_rooted(settings, source.path)), documents)
    return found


def remote_sources(
    settings: PrepareData,
    dep: Callable[[str], Path],
    fetched: Callable[[str], Path],
    scratch: Path,
) -> Iterator[RawSource]:
    """Fetch the sources with remote files.

    Args:
        settings: The settings.
        dep: Resolves the local one of a source's two paths.
        fetched: Brings a remote file to this machine.
        scratch: An empty folder for links; must outlive the sources.

    Raises:
        ConfigError: If a local path is no declared dependency.
        DataInvalid: If a local path is missing.
    """
    for source in settings.sources:
        rows, documents = _remote(source)
        if not rows and not documents:
            continue
        addresses: dict[str, str] = {}
        places: list[Path] = []
        for kind, uris in (("rows", rows), ("documents", documents)):
            folder = scratch / source.name / kind
            folder.mkdir(parents=True)
            for uri in uris:
                link = folder / uri.rpartition("/")[2]
                link.symlink_to(fetched(uri).absolute())
                addresses[str(link)] = uri
                places.append(link)
        path = _place(places[: len(rows)]) or dep(_rooted(settings, source.path))
        passages = _place(places[len(rows) :])
        if passages is None and source.documents is not None:
            passages = dep(_rooted(settings, source.documents))
        yield RawSource(source, path, passages, addresses)


def _remote(source: SourceSettings) -> tuple[list[str], list[str]]:
    """Addresses behind a source's path, and behind its passage file; empty for local ones."""
    documents = source.documents or ""
    return (
        remote_files(source.format, source.path) if is_remote(source.path) else [],
        [documents] if is_remote(documents) else [],
    )


def _place(links: Sequence[Path]) -> Path | None:
    """A single file stands for itself, several for the folder they share."""
    if not links:
        return None
    return links[0] if len(links) == 1 else links[0].parent


def _rooted(settings: PrepareData, path: str) -> str:
    return path.replace("{root}", settings.root)

"""Models from the Hugging Face hub, at a pinned commit, through the hub's own client and cache.

Only the files that make up a model are asked for; a repository with pickled weights alone is refused before anything is
downloaded. Large files are checked against the digests that the hub states, besides those pinned in `params.yaml`.
With `HF_HUB_OFFLINE=1` only the hub's local cache is looked at: nothing is sent, and what is not cached counts as
not available.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faithline.models.folder import copy_folder, is_weights, listing, select
from faithline.models.site import Site
from faithline.models.spec import HubSource
from faithline.pipeline.errors import ConfigError, EnvironmentMismatch, PipelineError, Preempted
from faithline.pipeline.machine import MIB, require_space
from faithline.pipeline.progress import Progress


@dataclass(frozen=True)
class _RemoteFile:
    size: int
    sha256: str | None
    """Known for files kept in large-file storage, which weights are."""


def fetch(source: HubSource, out: Path, site: Site) -> bool:
    """Copy a model from the hub, or its cache, to `out`; False if it is not available offline.

    Raises:
        ConfigError: There is no such repository or revision.
        EnvironmentMismatch: No access, only pickled weights, a wrong digest, or too little disk space.
        Preempted: The hub cannot be reached.
    """
    if site.offline:
        snapshot = _cached_snapshot(source)
        if snapshot is None:
            return False
        copy_folder(snapshot, out, source.digests, site)
        return True
    where = f"{source.repo}@{source.revision}"
    with _explained(where):
        remote = _tree(source)
        names = select(remote, where)
        snapshot = _download(source, {name: remote[name].size for name in names}, out, site)
    stated = {name: digest for name in names if (digest := remote[name].sha256) is not None}
    copy_folder(snapshot, out, stated | source.digests, site)
    return True


def _cached(source: HubSource, name: str) -> Path | None:
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(source.repo, name, revision=source.revision)
    return Path(found) if isinstance(found, str) else None


def _cached_snapshot(source: HubSource) -> Path | None:
    config = _cached(source, "config.json")
    if config is None or not any(is_weights(name) for name in listing(config.parent)):
        return None
    return config.parent


def _tree(source: HubSource) -> dict[str, _RemoteFile]:
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import RepoFile

    entries = HfApi().list_repo_tree(source.repo, revision=source.revision, recursive=True)
    return {
        entry.path: _RemoteFile(size=entry.size, sha256=entry.lfs.sha256 if entry.lfs is not None else None)
        for entry in entries
        if isinstance(entry, RepoFile)
    }


def _download(source: HubSource, sizes: Mapping[str, int], out: Path, site: Site) -> Path:
    """Bring the named files into the hub's cache and return the snapshot folder there."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.constants import HF_HUB_CACHE

    missing = [name for name in sizes if _cached(source, name) is None]
    needed = sum(sizes[name] for name in missing)
    cache = Path(HF_HUB_CACHE)
    cache.mkdir(parents=True, exist_ok=True)
    require_space(cache, needed, f"to download {source.repo}")
    same_disk = cache.stat().st_dev == out.stat().st_dev
    require_space(out, sum(sizes.values()) + (needed if same_disk else 0), "for the model")
    site.log.info("downloading from the hub", repo=source.repo, files=len(missing), mib=needed // MIB)
    with site.progress(needed // MIB, "MiB", "download") as progress:
        bar = _progress_class(progress)
        paths = [
            hf_hub_download(source.repo, name, revision=source.revision, tqdm_class=bar if name in missing else None)
            for name in sizes
        ]
    return next(Path(path).parent for name, path in zip(sizes, paths, strict=True) if name == "config.json")


def _progress_class(progress: Progress) -> Any:
    """Make the class the hub's client reports received bytes to: a silent tqdm that passes them on."""
    from tqdm.auto import tqdm

    class Received(tqdm):  # type: ignore[misc]
        pending = 0

        def __init__(self, *arguments: Any, **settings: Any) -> None:
            settings.pop("name", None)
            super().__init__(*arguments, **settings | {"disable": True})

        def update(self, n: float | None = 1) -> None:
            Received.pending += int(n or 0)
            whole, Received.pending = divmod(Received.pending, MIB)
            progress.advance(whole)

    return Received


@contextmanager
def _explained(where: str) -> Iterator[None]:
    import httpx
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        yield
    except HfHubHTTPError as error:
        raise _refusal(error, where) from None
    except (httpx.TransportError, LocalEntryNotFoundError) as error:
        raise Preempted(
            f"the hub cannot be reached: {type(error).__name__}",
            where=where,
            next_step="check the network, or set HF_HUB_OFFLINE=1 to use what is cached, then run it again",
        ) from None


def _refusal(error: Exception, where: str) -> PipelineError:
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    status = getattr(getattr(error, "response", None), "status_code", 0)
    if isinstance(error, GatedRepoError):
        return EnvironmentMismatch(
            "the hub asks for a licence agreement",
            where=where,
            next_step="accept it on the model's page and set HF_TOKEN",
        )
    if isinstance(error, RepositoryNotFoundError | RevisionNotFoundError | EntryNotFoundError):
        return ConfigError(
            "the hub has no such repository or revision, or you may not see it",
            where=where,
            next_step="check `repo` and `revision` in params.yaml; set HF_TOKEN for a private repository",
        )
    if status == 429 or status >= 500:
        return Preempted(f"the hub answers with status {status}", where=where, next_step="run it again later")
    return EnvironmentMismatch(f"the hub answers with status {status}", where=where, next_step="check HF_TOKEN")

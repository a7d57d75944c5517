"""What an attempt takes from the store and gives to it: dependencies by hash, the run cache's entry of its stage."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ruamel.yaml import YAML

from faithline.pipeline.errors import ConfigError, EnvironmentMismatch
from faithline.pipeline.graph import PIPELINE_FILE, Graph, covers
from faithline.pipeline.log import Logger
from faithline.pipeline.machine import require_space
from faithline.pipeline.yaml import read_mapping
from faithline.runs.fragments import (
    LOCK_FILE,
    Fragment,
    Tracked,
    check_agreement,
    lock_text,
    read_fragment,
    read_lock,
)
from faithline.runs.layout import REMOTE
from faithline.runs.objects import Moved, fetch
from faithline.store.objects import Store

if TYPE_CHECKING:
    from faithline.runs.project import Project, RunKey

__all__ = [
    "bring",
    "bring_result",
    "bring_uncached",
    "send_result",
    "uncached_outputs",
    "upstream_fragments",
    "wanted_outputs",
    "write_lock",
]


def upstream_fragments(store: Store, run_id: str, stage: str, graph: Graph) -> dict[str, Fragment]:
    """Return the fragments of the stages whose outputs `stage` reads.

    Raises:
        ConfigError: If one of them is not done, or they do not fit together.
    """
    names = graph.upstream(stage)
    found = {name: read_fragment(store, run_id, name) for name in names}
    missing = [name for name, fragment in found.items() if fragment is None]
    if missing:
        raise ConfigError(
            f"stage {stage} needs {', '.join(missing)}, not done in run {run_id}",
            where=f"{store.url}/runs/{run_id}",
            next_step=f"run `faithline run-stage {missing[0]}` with the same run id and store first",
        )
    fragments = {name: fragment for name, fragment in found.items() if fragment is not None}
    check_agreement(fragments, graph)
    return fragments


def wanted_outputs(graph: Graph, stage: str, upstream: Mapping[str, Fragment]) -> list[tuple[Tracked, str]]:
    """Pair every output of other stages with the dependency that needs it, or a part of it."""
    return [
        (out, dep)
        for dep in graph.stage(stage).deps
        for fragment in upstream.values()
        for out in fragment.outs
        if covers(dep, out.path) or covers(out.path, dep)
    ]


def bring(project: Project, store: Store, root: Path, wanted: list[tuple[Tracked, str]], received: Moved) -> None:
    """Put outputs of other stages, or the parts that are needed, into the workspace."""
    require_space(root, sum(out.size for out in {out for out, _ in wanted}), "for the stage's inputs")
    fetch(store, project.cache, (out.md5 for out, _ in wanted), received)
    hashes: set[str] = set()
    for out, dep in wanted:
        if out.is_folder:
            files = project.cache.files(out.md5)
            hashes |= {md5 for name, md5 in files.items() if _touches(dep, f"{out.path}/{name}")}
    fetch(store, project.cache, hashes, received)
    project.check_out(wanted)


def _touches(dep: str, path: str) -> bool:
    return covers(dep, path) or covers(path, dep)


def write_lock(root: Path, upstream: list[Fragment]) -> None:
    """Put the run's fragments into the workspace's `dvc.lock`; entries of other stages stay."""
    path = root / LOCK_FILE
    names = {fragment.stage for fragment in upstream}
    kept = {name: entry for name, entry in read_lock(root).items() if name not in names}
    staged = path.with_name(f".{path.name}.{os.getpid()}")
    staged.write_text(lock_text(upstream, kept), encoding="utf-8")
    staged.replace(path)


def bring_result(project: Project, store: Store, key: RunKey, received: Moved, log: Logger) -> None:
    """Put the newest result of just these inputs from the run cache of the store where DVC looks for it."""
    prefix = f"{REMOTE}/runs/{key.folder}/"
    for listed in sorted(store.list(prefix), key=lambda entry: entry.modified, reverse=True):
        found = store.read(listed.key)
        text = found.content.decode(errors="replace") if found else ""
        if not key.fits(text):
            continue
        hashes = [str(out["md5"]) for out in YAML(typ="safe", pure=True).load(text)["outs"]]
        try:
            fetch(store, project.cache, hashes, received)
            fetch(store, project.cache, project.cache.expand(hashes), received)
        except EnvironmentMismatch as error:
            log.warning("the run cache's result cannot be used", why=error.what)
            continue
        place = project.run_cache / key.folder / listed.key.removeprefix(prefix)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        return


def send_result(project: Project, store: Store, key: RunKey) -> None:
    """Put a stage's result into the run cache of the store; its objects must be there."""
    for path in sorted((project.run_cache / key.folder).glob("[0-9a-f]*")):
        remote = f"{REMOTE}/runs/{key.folder}/{path.name}"
        if key.fits(path.read_text(encoding="utf-8")) and store.stat(remote) is None:
            store.write(remote, path.read_bytes())


def uncached_outputs(root: Path, graph: Graph, stage: str) -> frozenset[str]:
    """Return a stage's outputs that DVC leaves to git: `cache: false` in `dvc.yaml`."""
    spec = read_mapping(root / PIPELINE_FILE)["stages"][stage]
    kinds = zip(("outs", "metrics", "plots"), _paths_by_kind(graph, stage), strict=True)
    return frozenset(
        path
        for kind, paths in kinds
        for entry, path in zip(spec.get(kind) or (), paths, strict=True)
        if isinstance(entry, dict) and (next(iter(entry.values())) or {}).get("cache") is False
    )


def _paths_by_kind(graph: Graph, stage: str) -> tuple[tuple[str, ...], ...]:
    found = graph.stage(stage)
    return found.outs, found.metrics, found.plots


def bring_uncached(project: Project, store: Store, done: Fragment, shown: frozenset[str], received: Moved) -> None:
    """Put the metrics, plots and pages of a stage that is done into the workspace, for runners that show them."""
    wanted = [(out, out.path) for out in done.outs if out.path in shown]
    fetch(store, project.cache, (out.md5 for out, _ in wanted), received)
    fetch(store, project.cache, project.cache.expand(out.md5 for out, _ in wanted), received)
    project.check_out(wanted)

"""Make a run the project's own: its fragments become `dvc.lock`, what git keeps of it is put in place.

A run can be adopted when all its stages are done, they fit together, and everything they name is in the store, checked
object by object. `dvc.lock` is written last. From then on the run is like one of `dvc repro` on this machine: commit
it, and `dvc pull` fetches the rest on any other.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from faithline.pipeline.errors import ConfigError, EnvironmentMismatch
from faithline.pipeline.graph import PARAMS_FILE, Graph, covers, load_graph
from faithline.runs.fragments import LOCK_FILE, Fragment, check_agreement, lock_text, read_fragments
from faithline.runs.layout import checked_run_id, object_key
from faithline.runs.objects import THREADS, Cache, Moved, fetch
from faithline.runs.pin import check_same, read_run
from faithline.runs.transfer import uncached_outputs
from faithline.store.objects import Store

__all__ = ["Adopted", "adopt"]


@dataclass(frozen=True)
class Adopted:
    """What adopting a run did."""

    stages: int
    objects: int
    """Objects of the run in the store, all checked."""
    written: tuple[str, ...]
    """Files written in the project."""


def adopt(root: Path, store: Store, run_id: str, *, with_params: bool) -> Adopted:
    """Assemble `root/dvc.lock` from a run's fragments.

    Args:
        root: The project; its `dvc.yaml` must be the run's.
        store: The store of runs.
        run_id: The run.
        with_params: Whether to take the run's `params.yaml` too; otherwise the project's must be the same.

    Raises:
        ConfigError: If there is no such run, it is not done, or the project is another.
        EnvironmentMismatch: If the store lost something.
    """
    run = read_run(store, checked_run_id(run_id))
    if run is None:
        raise ConfigError(f"there is no run {run_id}", where=store.url, next_step="check --store and the run id")
    written = []
    if with_params and (root / PARAMS_FILE).read_text(encoding="utf-8") != run.params:
        _write(root / PARAMS_FILE, run.params.encode())
        written.append(PARAMS_FILE)
    check_same(run, root)
    graph = load_graph(root)
    fragments = _complete(store, run_id, graph)
    check_agreement(fragments, graph)
    with tempfile.TemporaryDirectory() as folder:
        cache = Cache(Path(folder))
        fetch(store, cache, (out.md5 for one in fragments.values() for out in one.outs if out.is_folder), Moved())
        _check_parts(fragments, cache)
        objects = _check_objects(store, fragments, cache)
        written += _place_uncached(root, store, fragments, graph, cache)
    _write(root / LOCK_FILE, lock_text(list(fragments.values())).encode())
    return Adopted(len(fragments), objects, (*written, LOCK_FILE))


def _complete(store: Store, run_id: str, graph: Graph) -> dict[str, Fragment]:
    found = read_fragments(store, run_id)
    missing = [name for name in graph.order() if name not in found]
    if missing:
        raise ConfigError(
            f"run {run_id} is not done: {', '.join(missing)}",
            where=f"{store.url}/runs/{run_id}",
            next_step=f"run `faithline run-stage {missing[0]}` with this run id and store",
        )
    return {name: found[name] for name in graph.order()}


def _check_parts(fragments: Mapping[str, Fragment], cache: Cache) -> None:
    """Check dependencies on a file inside another stage's output folder, which `check_agreement` cannot see."""
    folders = {out.path: (one.stage, out.md5) for one in fragments.values() for out in one.outs if out.is_folder}
    for fragment in fragments.values():
        for dep in (dep for dep in fragment.deps if not dep.is_folder):
            for path, (stage, md5) in folders.items():
                if covers(path, dep.path) and cache.files(md5).get(dep.path[len(path) + 1 :]) != dep.md5:
                    raise ConfigError(
                        f"stages of the run do not fit together: {fragment.stage} read another {dep.path} than {stage} "
                        "wrote",
                        where=dep.path,
                        next_step="start a new run with another id",
                    )


def _check_objects(store: Store, fragments: Mapping[str, Fragment], cache: Cache) -> int:
    sizes: dict[str, int | None] = {}
    for out in (out for one in fragments.values() for out in one.outs):
        if out.is_folder:
            sizes |= dict.fromkeys(cache.expand([out.md5]), None)
        else:
            sizes[out.md5] = out.size

    def lost(md5: str) -> bool:
        there = store.stat(object_key(md5))
        return there is None or (sizes[md5] is not None and there.size != sizes[md5])

    with ThreadPoolExecutor(THREADS) as pool:
        gone = [md5 for md5, is_lost in zip(sizes, pool.map(lost, sizes), strict=True) if is_lost]
    if gone:
        raise EnvironmentMismatch(
            f"{len(gone)} of {len(sizes)} objects of the run are not in the store",
            where=f"{store.url}/{object_key(gone[0])}",
            next_step="was the store cleaned? start a new run with another id",
        )
    return len(sizes)


def _place_uncached(
    root: Path, store: Store, fragments: Mapping[str, Fragment], graph: Graph, cache: Cache
) -> list[str]:
    """Write the metrics, plots and pages that DVC leaves to git."""
    outs = [
        out
        for one in fragments.values()
        for uncached in [uncached_outputs(root, graph, one.stage)]
        for out in one.outs
        if out.path in uncached
    ]
    files: dict[str, str] = {}
    for out in outs:
        inside = {f"{out.path}/{name}": md5 for name, md5 in cache.files(out.md5).items()} if out.is_folder else {}
        files |= inside or {out.path: out.md5}
    fetch(store, cache, files.values(), Moved())
    for path, md5 in files.items():
        _write(root / path, cache.path(md5).read_bytes())
    return sorted(files)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    staged = path.with_name(f".{path.name}.{os.getpid()}")
    staged.write_bytes(content)
    staged.replace(path)

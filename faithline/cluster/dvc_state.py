"""What DVC would do with each stage, and why: DVC's own comparison, read without running or writing anything.

A changed stage whose result for exactly these inputs is in the run cache would be restored, not run; that is asked of
DVC too, with the dependencies hashed as they are now (`dvc repro --dry` asks with the old hashes and can be wrong).
Whether a stage after a running one runs cannot be known: it will not if the new outputs come out equal.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faithline.pipeline.errors import ConfigError, Preempted
from faithline.pipeline.graph import PARAMS_FILE, Graph, covers
from faithline.pipeline.yaml import read_mapping

__all__ = ["StageState", "stage_states"]

LOCK_FILE = "dvc.lock"


@dataclass(frozen=True)
class StageState:
    """What would happen to a stage."""

    runs: bool
    """It would run, as far as can be known now."""
    certain: bool
    """False: it runs only if a stage before it, which runs, gives other outputs than last time."""
    reasons: tuple[str, ...]
    """Why; empty for a stage that is up to date."""
    alters: bool
    """Its outputs may come out other than `dvc.lock` says: by a run, or restored from an earlier, other run."""


def stage_states(root: Path, graph: Graph, *, fresh: Set[str], allow_missing: bool) -> dict[str, StageState]:
    """Compare a project with its `dvc.lock` and DVC's cache.

    Args:
        root: The project folder.
        graph: Its pipeline.
        fresh: Stages that run whatever the comparison says.
        allow_missing: Take data that `dvc.lock` names and that is not here for unchanged, as it would be pulled.

    Raises:
        ConfigError: If this is no DVC project, or DVC cannot read it.
        Preempted: If another DVC process works on it.
    """
    from dvc.exceptions import DvcException
    from dvc.lock import LockError
    from dvc.repo import Repo, lock_repo

    logging.getLogger("dvc").setLevel(logging.WARNING)  # what it would tell a user of `dvc repro`
    locked = read_mapping(root / LOCK_FILE).get("stages", {}) if (root / LOCK_FILE).exists() else {}
    states: dict[str, StageState] = {}
    try:
        # In the project, for DVC words paths and stages relative to the working folder.
        with contextlib.chdir(root), Repo() as repo, lock_repo(repo):
            stages = {stage.addressing: stage for stage in repo.index.stages}
            for name in graph.order():
                comparison = _Comparison(graph, name, states, allow_missing=allow_missing)
                states[name] = comparison.state(stages[name], known=name in locked, fresh=name in fresh)
    except LockError as error:
        raise Preempted(
            f"another DVC process works here: {str(error).splitlines()[0]}",
            where=str(root),
            next_step="try again later",
        ) from None
    except DvcException as error:
        raise ConfigError(f"DVC says: {error}", where=str(root), next_step="see `dvc status`") from None
    return states


class _Comparison:
    """One stage against its lock, given what happens to the stages before it."""

    def __init__(self, graph: Graph, name: str, before: Mapping[str, StageState], *, allow_missing: bool) -> None:
        self._graph = graph
        self._name = name
        self._allow_missing = allow_missing
        self._altered = [other for other in graph.upstream(name) if before[other].alters]
        self._restored = [other for other in graph.upstream(name) if before[other].reasons and not before[other].alters]

    def state(self, stage: Any, *, known: bool, fresh: bool) -> StageState:
        """Decide what happens to the stage."""
        changes, missing = self._changes(stage.status(check_updates=False), known=known)
        if fresh:
            return _runs("uncached: its meta says cache: false", *changes)
        waits = tuple(f"after {other}, unless its outputs come out equal" for other in self._altered)
        rebuilt = missing if known else ()
        if not (changes or missing or waits):
            return StageState(runs=False, certain=True, reasons=(), alters=False)
        if changes and waits:
            return _runs(*changes, *rebuilt)
        if waits:
            sure = bool(missing) and not self._is_cached(stage, changed=False)
            return StageState(runs=True, certain=sure, reasons=(*rebuilt, *waits), alters=True)
        if self._is_cached(stage, changed=bool(changes)):
            reasons = (*changes, "an equal run is in the cache")
            return StageState(runs=False, certain=True, reasons=reasons, alters=bool(changes))
        return _runs(*changes, *rebuilt)

    def _changes(self, status: Mapping[str, Any], *, known: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Word DVC's entries: what changed, and which outputs are missing."""
        if not known:
            return ("never run here",), ()
        changes: list[str] = []
        missing: list[str] = []
        for entry in status.get(self._name, []):
            if not isinstance(entry, Mapping):
                changes.append("command changed" if "command" in str(entry) else str(entry))
                continue
            for path, what in entry.get("changed deps", {}).items():
                changes += self._dependency(str(path), what)
            for path, what in entry.get("changed outs", {}).items():
                if what in {"deleted", "not in cache"}:
                    how = what if Path(path).exists() else "missing"
                    missing += [] if self._allow_missing else [f"rebuild: output {how}: {path}"]
                else:
                    changes.append(f"output {what}: {path}")
        return tuple(changes), tuple(missing)

    def _dependency(self, path: str, what: object) -> list[str]:
        if isinstance(what, Mapping):
            return [f"param {key} {how}" for key, how in what.items()]
        if path == PARAMS_FILE:
            return [f"params {what}"]
        makers = [
            other
            for other in self._graph.upstream(self._name)
            if any(_related(path, product) for product in self._graph.stage(other).products)
        ]
        if what == "deleted":
            if makers and (self._allow_missing or set(makers) <= {*self._altered, *self._restored}):
                return []  # made or restored by then
            return [f"dependency missing: {path}"]
        kind = "code" if path.split("/", maxsplit=1)[0] in {"components", "faithline"} else "dependency"
        return [f"{kind} {what}: {path}"]

    def _is_cached(self, stage: Any, *, changed: bool) -> bool:
        """Whether DVC would restore the stage's outputs for its dependencies as they are now."""
        from dvc.stage.cache import RunCacheNotFoundError
        from dvc_data.hashfile.hash_info import HashInfo

        if changed:
            if not all(dep.exists for dep in stage.deps):
                return False
            stage.save_deps()
            for out in stage.outs:
                out.hash_info = HashInfo()  # else DVC would take the outputs of dvc.lock for those of the new inputs
        try:
            stage.repo.stage_cache.restore(stage, dry=True)
        except RunCacheNotFoundError:
            return False
        return True


def _runs(*reasons: str) -> StageState:
    return StageState(runs=True, certain=True, reasons=reasons, alters=True)


def _related(one: str, other: str) -> bool:
    return covers(one, other) or covers(other, one)

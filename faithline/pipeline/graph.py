"""The pipeline graph, read from `dvc.yaml`; nothing else states a stage, an edge or a path.

Only the part of DVC's language that Faithline uses is understood: plain stages with `cmd`, `deps`, `params`, `outs`,
`metrics`, `plots`, `meta`, and `${section.key}` substitution from `params.yaml`. Anything else (foreach, matrix, vars,
params from other files) is refused, because a binding that silently ignored it would run another pipeline than DVC.
Reading it needs no DVC import, so components and DAG files stay quick to load.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath

from faithline.pipeline.errors import ConfigError
from faithline.pipeline.yaml import read_mapping

PIPELINE_FILE = "dvc.yaml"
PARAMS_FILE = "params.yaml"
_KNOWN = {"cmd", "desc", "deps", "params", "outs", "metrics", "plots", "meta"}
_REFERENCE = re.compile(r"\$\{([^}]+)\}")


@dataclass(frozen=True)
class Stage:
    """One stage of the pipeline, substitutions done."""

    name: str
    cmd: str
    deps: tuple[str, ...]
    """Paths the stage reads, relative to the project."""
    params: tuple[str, ...]
    """Top-level keys of `params.yaml` the stage depends on."""
    outs: tuple[str, ...]
    """Output folders and files tracked by DVC's cache."""
    metrics: tuple[str, ...]
    plots: tuple[str, ...]
    meta: Mapping[str, object] = field(default_factory=dict, hash=False)
    """Where the stage runs in a cluster, as `dvc.yaml` says it; `faithline.cluster.resources` has its type."""

    @property
    def products(self) -> tuple[str, ...]:
        """Everything the stage writes."""
        return (*self.outs, *self.metrics, *self.plots)

    def declares_dep(self, path: str) -> bool:
        """Whether `path` is a dependency or lies below one."""
        return any(covers(dep, path) for dep in self.deps)


@dataclass(frozen=True)
class Graph:
    """All stages, in the order of `dvc.yaml`."""

    stages: Mapping[str, Stage]

    def stage(self, name: str) -> Stage:
        """Return a stage by name.

        Raises:
            ConfigError: If there is none; the message names the nearest.
        """
        if name not in self.stages:
            raise ConfigError(
                f"there is no stage {name!r}", where=PIPELINE_FILE, next_step=f"stages: {', '.join(self.stages)}"
            )
        return self.stages[name]

    def upstream(self, name: str) -> tuple[str, ...]:
        """Names of the stages whose products `name` reads, in the order of `dvc.yaml`."""
        deps = self.stage(name).deps
        return tuple(
            other.name
            for other in self.stages.values()
            if other.name != name and any(covers(a, b) or covers(b, a) for a in other.products for b in deps)
        )

    def order(self) -> tuple[str, ...]:
        """Stage names, every stage after all it depends on; ties keep the order of `dvc.yaml`.

        Raises:
            ConfigError: If the stages form a cycle.
        """
        done: list[str] = []
        left = {name: set(self.upstream(name)) for name in self.stages}
        while left:
            ready = next((name for name, needs in left.items() if needs <= set(done)), None)
            if ready is None:
                raise ConfigError(f"the stages form a cycle: {', '.join(left)}", where=PIPELINE_FILE)
            done.append(ready)
            del left[ready]
        return tuple(done)

    def param_keys(self) -> frozenset[str]:
        """Top-level keys of `params.yaml` that some stage depends on."""
        return frozenset(key for stage in self.stages.values() for key in stage.params)


def covers(parent: str, child: str) -> bool:
    """Whether `child` is `parent` or lies below it (lexically)."""
    above = _parts(parent)
    return _parts(child)[: len(above)] == above


@cache  # a graph asks for every pair of its paths
def _parts(path: str) -> tuple[str, ...]:
    return PurePosixPath(path).parts


def load_graph(root: Path) -> Graph:
    """Read `root/dvc.yaml` with the values of `root/params.yaml`.

    Raises:
        ConfigError: If a file is missing or holds something outside the understood part of DVC's language.
    """
    document = read_mapping(root / PIPELINE_FILE)
    values = read_mapping(root / PARAMS_FILE)
    extra = set(document) - {"stages", "plots", "metrics"}
    if extra or not isinstance(document.get("stages"), dict):
        raise ConfigError(
            f"unexpected top-level keys: {sorted(extra)}" if extra else "no stages",
            where=PIPELINE_FILE,
            next_step="use plain stages only",
        )
    return Graph({name: _stage(name, spec, values) for name, spec in document["stages"].items()})


def _stage(name: str, spec: object, values: Mapping[str, object]) -> Stage:
    where = f"{PIPELINE_FILE}: {name}"
    if not isinstance(spec, dict) or not isinstance(spec.get("cmd"), str):
        raise ConfigError("a stage needs a `cmd` string", where=where)
    unknown = sorted(set(spec) - _KNOWN)
    if unknown:
        raise ConfigError(f"unknown keys {unknown}", where=where, next_step=f"known: {', '.join(sorted(_KNOWN))}")

    def paths(key: str) -> tuple[str, ...]:
        entries = spec.get(key) or []
        names = (next(iter(entry)) if isinstance(entry, dict) else entry for entry in entries)
        return tuple(_substitute(str(entry), values, where) for entry in names)

    params = spec.get("params") or []
    if not all(isinstance(key, str) for key in params):
        raise ConfigError("`params` must list keys of params.yaml", where=where)
    meta = spec.get("meta") or {}
    if not isinstance(meta, dict):
        raise ConfigError("`meta` must be a mapping", where=where)
    return Stage(
        name=name,
        cmd=_substitute(spec["cmd"], values, where),
        deps=paths("deps"),
        params=tuple(params),
        outs=paths("outs"),
        metrics=paths("metrics"),
        plots=paths("plots"),
        meta={str(key): _setting(value, values, where) for key, value in meta.items()},
    )


def _setting(entry: object, values: Mapping[str, object], where: str) -> object:
    """Substitute in a value of `meta`; one that is a lone reference keeps the type of what it refers to, as in DVC."""
    if not isinstance(entry, str):
        return entry
    lone = _REFERENCE.fullmatch(entry)
    return _value(lone, values, where) if lone else _substitute(entry, values, where)


def _substitute(text: str, values: Mapping[str, object], where: str) -> str:
    return _REFERENCE.sub(lambda match: str(_value(match, values, where)), text)


def _value(reference: re.Match[str], values: Mapping[str, object], where: str) -> str | int | float:
    node: object = values
    for key in reference[1].strip().split("."):
        if not isinstance(node, dict) or key not in node:
            raise ConfigError(f"`{reference[0]}` is not in {PARAMS_FILE}", where=where)
        node = node[key]
    if not isinstance(node, (str, int, float)):
        raise ConfigError(f"`{reference[0]}` is not a plain value", where=where)
    return node

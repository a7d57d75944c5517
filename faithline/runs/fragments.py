"""Lock fragments: what DVC wrote into `dvc.lock` for one stage of a run, as a small `dvc.lock` of its own.

A fragment is written once, after everything it names is in the store, and never changed; its presence means that the
stage is done. Fragments of one run must agree: a stage has to have read what the stage before it wrote, and two stages
that depend on the same code must have run the same code. Whatever disagrees is named, and nothing is assembled.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from faithline.pipeline.errors import ConfigError
from faithline.pipeline.graph import Graph
from faithline.runs.layout import fragment_key, stage_of
from faithline.store.objects import ABSENT, Store

__all__ = [
    "LOCK_FILE",
    "Fragment",
    "Tracked",
    "check_agreement",
    "commit_fragment",
    "lock_text",
    "read_fragment",
    "read_fragments",
    "read_lock",
]

LOCK_FILE = "dvc.lock"
_SCHEMA = "2.0"


@dataclass(frozen=True)
class Tracked:
    """A dependency or output as `dvc.lock` has it."""

    path: str
    md5: str
    """Hash of the content; ends in `.dir` for a folder."""
    size: int

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return self.md5.endswith(".dir")


@dataclass(frozen=True)
class Fragment:
    """One stage's entry."""

    stage: str
    entry: Mapping[str, Any]
    """The entry as DVC wrote it."""

    @property
    def deps(self) -> tuple[Tracked, ...]:
        """What the stage read."""
        return tuple(_tracked(self.entry.get("deps")))

    @property
    def outs(self) -> tuple[Tracked, ...]:
        """What the stage wrote; metrics and plots too."""
        return tuple(_tracked(self.entry.get("outs")))


def _tracked(entries: Sequence[Mapping[str, Any]] | None) -> Iterator[Tracked]:
    for entry in entries or ():
        yield Tracked(str(entry["path"]), str(entry["md5"]), int(entry.get("size", 0)))


def read_fragment(store: Store, run_id: str, stage: str) -> Fragment | None:
    """Return a stage's fragment, None if the stage is not done.

    Raises:
        ConfigError: If it is damaged.
    """
    key = fragment_key(run_id, stage)
    found = store.read(key)
    return None if found is None else _parse(found.content, stage, f"{store.url}/{key}")


def read_fragments(store: Store, run_id: str) -> dict[str, Fragment]:
    """Return the fragments of every stage of a run that is done."""
    names = [name for entry in store.list(f"runs/{run_id}/") if (name := stage_of(entry.key, run_id))]
    found = ((name, read_fragment(store, run_id, name)) for name in names)
    return {name: fragment for name, fragment in found if fragment is not None}


def commit_fragment(store: Store, run_id: str, fragment: Fragment) -> Fragment:
    """Write a fragment unless there is one, and return the one that counts: the first."""
    key = fragment_key(run_id, fragment.stage)
    there = read_fragment(store, run_id, fragment.stage)
    if there is None:
        store.write(key, lock_text([fragment]).encode(), expect=ABSENT)
        there = read_fragment(store, run_id, fragment.stage)
    if there is None:
        raise ConfigError(
            "the lock fragment is gone right after it was written", where=f"{store.url}/{key}", next_step="run it again"
        )
    return there


def lock_text(fragments: Sequence[Fragment], kept: Mapping[str, Any] | None = None) -> str:
    """Return the text of a `dvc.lock` with these stages, byte for byte as DVC writes it.

    Args:
        fragments: The stages, in order.
        kept: Further stages' entries, to come first.
    """
    stages = {**(kept or {}), **{fragment.stage: fragment.entry for fragment in fragments}}
    text = io.StringIO()
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.dump({"schema": _SCHEMA, "stages": stages}, text)
    return text.getvalue()


def read_lock(root: Path) -> dict[str, Any]:
    """Return the entries of the project's own `dvc.lock`, in its order; none if there is no such file.

    Raises:
        ConfigError: If it is damaged.
    """
    path = root / LOCK_FILE
    return dict(_entries(path.read_bytes(), str(path))) if path.is_file() else {}


def _parse(content: bytes, stage: str, where: str) -> Fragment:
    entries = _entries(content, where)
    if set(entries) != {stage}:
        raise _damaged(f"it holds {sorted(entries)}", where)
    fragment = Fragment(stage, entries[stage])
    try:
        _ = fragment.deps, fragment.outs
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _damaged(f"{type(error).__name__}: {error}", where) from None
    return fragment


def _entries(content: bytes, where: str) -> Mapping[str, Any]:
    try:
        document = YAML().load(content.decode())  # the round-trip reader keeps the order and style of numbers
    except (YAMLError, UnicodeDecodeError) as error:
        raise _damaged(str(error).splitlines()[0], where) from None
    entries = document.get("stages") if isinstance(document, dict) else None
    if not isinstance(entries, dict) or str(document.get("schema")) != _SCHEMA:
        raise _damaged("no `stages` of schema 2.0", where)
    return entries


def _damaged(what: str, where: str) -> ConfigError:
    return ConfigError(
        f"the lock fragment is damaged: {what}", where=where, next_step="start a new run with another id"
    )


def check_agreement(fragments: Mapping[str, Fragment], graph: Graph) -> None:
    """Check that every stage wrote what `dvc.yaml` says, read what the others wrote, and shared code was the same.

    Raises:
        ConfigError: On the first disagreement, naming both stages.
    """
    for name, fragment in fragments.items():
        wrote = {PurePosixPath(out.path) for out in fragment.outs}
        odd = wrote ^ {PurePosixPath(path) for path in graph.stage(name).products}
        if odd:
            raise _damaged(f"its outputs and dvc.yaml's differ in {', '.join(sorted(map(str, odd)))}", f"stage {name}")
    written = {out.path: (name, out.md5) for name, fragment in fragments.items() for out in fragment.outs}
    first: dict[str, tuple[str, str]] = {}
    for name in (stage for stage in graph.order() if stage in fragments):
        for dep in fragments[name].deps:
            other, md5 = written.get(dep.path) or first.setdefault(dep.path, (name, dep.md5))
            if md5 != dep.md5:
                did = "wrote" if dep.path in written else "read"
                raise ConfigError(
                    f"stages of the run do not fit together: {other} {did} {dep.path} as {md5[:12]}, "
                    f"{name} read it as {dep.md5[:12]}",
                    where=dep.path,
                    next_step="code or data changed while the run went on: start a new run with another id; what is "
                    "unchanged comes from the run cache",
                )

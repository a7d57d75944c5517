"""Checkpoints of a PPO training: what a killed run continues from, bit by bit.

A checkpoint is everything that changes: weights, optimisers, value heads, KL coefficient, the best weights so far, the
watch's memory and the curve. Random draws and the data's order depend on seed and step alone, so the step stands for
both. Files are safetensors and JSON; `faithline.store.checkpoints` makes them complete or absent, and checks them.

A training's identity is JSON of everything that decides its course. An unfinished training of another identity in the
same place is an error that names what differs, never continued and never overwritten without a word; one that diverged
may be.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
from safetensors.torch import load_file, save_file
from torch import Tensor

from faithline.pipeline.errors import ConfigError, classify
from faithline.rl.engine.local import State
from faithline.rl.health import Memory
from faithline.store.checkpoints import Checkpoints
from faithline.store.objects import Store

__all__ = ["Best", "Keeper", "Position", "clear"]

_PROGRESS = "progress.json"
_DIVERGED = "diverged.json"


@dataclass(frozen=True)
class Best:
    """The step to keep."""

    step: int
    score: float
    weights: Mapping[str, Mapping[str, Tensor]]
    """By policy."""


@dataclass(frozen=True)
class Position:
    """Where a training stands after a step."""

    step: int
    state: State
    best: Best
    watch: Memory
    curve: list[dict[str, float]]


class _Progress(msgspec.Struct, forbid_unknown_fields=True):
    """The file `progress.json`."""

    step: int
    coefficient: float
    best_step: int
    best_score: float
    policies: list[str]
    watch: Memory
    curve: list[dict[str, float]]


class Keeper:
    """The checkpoints of one training."""

    def __init__(
        self, store: Store, scratch: Path, *, identity: Mapping[str, object], keep: int, warn: Callable[[str], None]
    ) -> None:
        """Open a place.

        Args:
            store: Where checkpoints are.
            scratch: Folder to build them in.
            identity: JSON-ready: everything that decides the training's course.
            keep: Checkpoints that stay.
            warn: Told of checkpoints that are passed over.
        """
        self._store = store
        self._scratch = scratch / "checkpoint"
        self._identity = json.dumps(identity, sort_keys=True)
        self._checkpoints = Checkpoints(store, identity=self._identity, keep=keep)
        self._warn = warn
        self.newest: int | None = None
        """Step of the newest checkpoint that was read or written."""

    @property
    def place(self) -> str:
        """Where checkpoints are."""
        return self._store.url

    def load(self) -> Position | None:
        """Read the newest complete checkpoint, None if there is none.

        Raises:
            ConfigError: An unfinished training of another identity is in this place.
        """
        self._refuse_others()
        folder = self._scratch / "read"
        try:
            found = self._checkpoints.fetch(folder)
            position = None if found is None else _read(folder)
        finally:
            shutil.rmtree(self._scratch, ignore_errors=True)
        self.newest = None if position is None else position.step
        for step, identity in self._manifests():
            if identity == self._identity and (self.newest is None or step > self.newest):
                self._warn(f"the checkpoint of step {step} is damaged or incomplete and is passed over")
        return position

    def save(self, position: Position) -> None:
        """Write a checkpoint; the ones before stay until it is complete.

        Raises:
            PipelineError: It cannot be written: no space left, say. The last one is kept.
        """
        folder = self._scratch / "write"
        shutil.rmtree(folder, ignore_errors=True)
        try:
            _write(folder, position)
            self._checkpoints.save(folder, position.step)
        except Exception as error:
            known = classify(error)
            if known is None:
                raise
            kept = "there is none yet" if self.newest is None else f"the one of step {self.newest} is kept"
            raise type(known)(
                f"the checkpoint of step {position.step} cannot be written ({known.what}); {kept}",
                where=self.place,
                next_step=known.next_step,
            ) from error
        finally:
            shutil.rmtree(self._scratch, ignore_errors=True)
        self.newest = position.step

    def mark_diverged(self) -> None:
        """Note that this training has come to its end, so that one with other settings may take its place."""
        self._store.write(_DIVERGED, self._identity.encode())

    def _refuse_others(self) -> None:
        ended = self._store.read(_DIVERGED)
        over = None if ended is None else ended.content.decode(errors="replace")
        found = list(self._manifests())
        if not found or self._identity in {identity for _, identity in found} or found[-1][1] == over:
            return
        step, other = found[-1]
        raise ConfigError(
            f"there is an unfinished training (step {step}) that differs in {_difference(other, self._identity)}",
            where=self.place,
            next_step="put that back to continue it, or remove this place to start anew",
        )

    def _manifests(self) -> Iterator[tuple[int, str]]:
        """Step and identity of every manifest; the identity of a damaged one counts as ours."""
        for entry in list(self._store.list("manifests/")):
            found = self._store.read(entry.key)
            try:
                identity = str(json.loads(found.content if found else b"")["identity"])
            except (ValueError, KeyError, TypeError):
                identity = self._identity
            number = Path(entry.key).stem
            if number.isdecimal():
                yield int(number), identity


def clear(store: Store) -> None:
    """Remove all checkpoints: the training's outputs are written, and another run must not continue from its end."""
    for prefix in ("manifests/", "shards/", _DIVERGED):
        for entry in list(store.list(prefix)):
            store.delete(entry.key)


def _write(folder: Path, position: Position) -> None:
    files = dict(position.state.tensors) | {
        f"best/{name}.safetensors": tensors for name, tensors in position.best.weights.items()
    }
    for name, tensors in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file({key: value.detach().cpu().contiguous() for key, value in tensors.items()}, str(path))
    progress = _Progress(
        step=position.step,
        coefficient=position.state.coefficient,
        best_step=position.best.step,
        best_score=position.best.score,
        policies=sorted(position.best.weights),
        watch=position.watch,
        curve=position.curve,
    )
    (folder / _PROGRESS).write_bytes(msgspec.json.encode(progress, order="sorted"))


def _read(folder: Path) -> Position:
    progress = msgspec.json.decode((folder / _PROGRESS).read_bytes(), type=_Progress)
    best = {name: load_file(str(folder / "best" / f"{name}.safetensors")) for name in progress.policies}
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.safetensors")}
    tensors = {name: load_file(str(path)) for name, path in sorted(paths.items()) if not name.startswith("best/")}
    return Position(
        step=progress.step,
        state=State(tensors, progress.coefficient),
        best=Best(progress.best_step, progress.best_score, best),
        watch=progress.watch,
        curve=progress.curve,
    )


def _difference(theirs: str, ours: str) -> str:
    """Names of the parts in which two identities differ, with both values where these are short."""
    try:
        one, other = _flat(json.loads(theirs)), _flat(json.loads(ours))
    except ValueError:
        return "everything: it is no PPO training"
    names = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    return ", ".join(f"{name} ({_short(one.get(name))} there, {_short(other.get(name))} here)" for name in names)


def _flat(value: object, prefix: str = "") -> dict[str, object]:
    if not isinstance(value, dict):
        return {prefix: value}
    return {
        name: found
        for key, inner in value.items()
        for name, found in _flat(inner, f"{prefix}.{key}" if prefix else str(key)).items()
    }


def _short(value: object) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 24 else f"{text[:12]}…"

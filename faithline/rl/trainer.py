"""The training loop: questions in, the best weights and a curve out; for every training system (`episode`).

A step is: the episode plays a batch of questions, the engine learns from the rows, the watch looks at the metrics, and
every few steps held-out questions are measured and a checkpoint is written. The step that is best on held-out
questions is what `train` leaves in the engine; step 0 takes part, so training never exports worse than it started with.
Everything is a function of the seed and the step: a run that is killed and started again ends in the same bytes as one
that is not (on a CPU with as many threads; GPU kernels do not promise that).

When a stage has written its outputs it calls `saving.clear(store)`, else its next run would only continue this one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
import numpy as np

from faithline.lm.backbone import fingerprint
from faithline.pipeline.errors import ConfigError, DataInvalid, Diverged
from faithline.pipeline.records import input_digest
from faithline.rl.engine.local import LocalEngine
from faithline.rl.episode import SCORE, Episode, Play, derived_seed
from faithline.rl.health import Watch, degenerate_share, require_finite
from faithline.rl.reports import Report
from faithline.rl.saving import Best, Keeper, Position
from faithline.store.objects import Store

__all__ = ["Result", "Trainer", "identity", "train"]

Q = TypeVar("Q")


@dataclass(frozen=True)
class Result:
    """What came of a training; the engine holds the weights of the best step."""

    curve: list[dict[str, float]]
    """See `reports`."""
    best_step: int
    best_score: float
    """On held-out questions."""
    first_score: float
    """Before training."""
    resumed_from: int | None
    """Step of the checkpoint that this run continued from."""


def train(
    engine: LocalEngine,
    episode: Episode[Q],
    questions: Sequence[Q],
    held_out: Sequence[Q],
    *,
    origin: Mapping[str, str],
    checkpoints: Store,
    scratch: Path,
    reports: Sequence[Report] = (),
) -> Result:
    """Train until `settings.steps`, from the newest checkpoint if there is one.

    Args:
        engine: Fresh; its settings and seed are the training's.
        episode: The training system.
        questions: To train on.
        held_out: To choose the step to keep by; none of them may be among `questions`.
        origin: What else decides the course, by name: digests of the data, the episode's settings.
        checkpoints: Where checkpoints are; no output of a stage, for DVC removes these before it runs.
        scratch: Folder to build checkpoints in, with room for one; empty afterwards.
        reports: Who is told.

    Raises:
        DataInvalid: There is no question, or a step gives nothing to learn from.
        ConfigError: A batch is larger than the data, or an unfinished training of another kind is in the way.
        EnvironmentMismatch: A checkpoint cannot be written.
        Diverged: Training has gone wrong; the engine holds the weights of the last good step, which is named.
    """
    _require(questions, held_out, engine.settings.batch_questions)

    def warn(what: str) -> None:
        for report in reports:
            report.warn(what)

    course = identity(engine, origin)
    keeper = Keeper(checkpoints, scratch, identity=course, keep=engine.settings.checkpoints.keep, warn=warn)
    return Trainer(engine, episode, questions, held_out, keeper=keeper, reports=reports).run()


def identity(engine: LocalEngine, origin: Mapping[str, str]) -> dict[str, object]:
    """Everything that decides a training's course, JSON-ready."""
    settings = msgspec.to_builtins(engine.settings)
    return {
        "backbone": fingerprint(engine.folder),
        "code": input_digest(Path(__file__).parent),
        "init": {name: input_digest(folder) for name, folder in sorted(engine.init.items())},
        "origin": dict(sorted(origin.items())),
        "roles": dict(sorted(engine.policies.items())),
        "seed": engine.seed,
        "settings": {key: value for key, value in settings.items() if key != "checkpoints"},
    }


def _require(questions: Sequence[object], held_out: Sequence[object], batch: int) -> None:
    for name, chosen in (("question to train on", questions), ("held-out question", held_out)):
        if not chosen:
            raise DataInvalid(
                f"there is not one {name}",
                where="PPO training",
                next_step="look at what was left out: prompts over rollout.max_prompt_tokens, or sets without data",
            )
    if batch > len(questions):
        raise ConfigError(
            f"a batch of {batch} questions is larger than the data ({len(questions)})",
            where="batch_questions",
            next_step="lower it, or train on more questions",
        )


class Trainer(Generic[Q]):
    """One training; `train` is the way in."""

    def __init__(
        self,
        engine: LocalEngine,
        episode: Episode[Q],
        questions: Sequence[Q],
        held_out: Sequence[Q],
        *,
        keeper: Keeper,
        reports: Sequence[Report],
    ) -> None:
        self._engine = engine
        self._settings = engine.settings
        self._episode = episode
        self._questions = questions
        self._held_out = held_out
        self._keeper = keeper
        self._reports = reports
        self._watch = Watch(self._settings.health, episode.best_reward)
        self._curve: list[dict[str, float]] = []
        self._best = Best(-1, 0.0, {})
        self._step = 0

    def run(self) -> Result:
        """Train."""
        resumed_from = self._resume()
        for step in range(self._step + 1, self._settings.steps + 1):
            try:
                self._advance(step)
            except Diverged as error:
                raise self._fall_back(error) from error
            if self._due(step) and not self._watch.uneasy:
                self._save()
        self._engine.take(self._best.weights)
        return Result(
            curve=self._curve,
            best_step=self._best.step,
            best_score=self._best.score,
            first_score=self._curve[0][f"held_out/{SCORE}"],
            resumed_from=resumed_from,
        )

    def _resume(self) -> int | None:
        position = self._keeper.load()
        if position is not None:
            self._engine.restore(position.state)
            self._watch = Watch(self._settings.health, self._episode.best_reward, position.watch)
            self._curve, self._best, self._step = position.curve, position.best, position.step
        for report in self._reports:
            report.begin(self._step)
        if position is None:
            self._curve.append({"step": 0, **self._judge(0)})
            self._save()
            return None
        return position.step

    def _advance(self, step: int) -> None:
        play = self._play(step)
        played = {name: float(value) for name, value in play.metrics.items()}  # ints would not survive a checkpoint
        metrics = self._engine.update(play.rows, step) | played
        rows = self._engine.learnable(play.rows)
        metrics["degenerate"] = degenerate_share(rows, self._settings.health)
        self._watch.look(step, rows, metrics)
        for report in self._reports:
            report.stepped(step, metrics, play.records)
        judged = step % self._settings.selection.every == 0 or step == self._settings.steps
        figures = self._judge(step) if judged else {}
        self._curve.append({"step": step, **metrics, **figures})
        self._step = step

    def _play(self, step: int) -> Play:
        """Play a batch; being told to stop meanwhile costs no step, as the weights are still those of the last one."""
        try:
            return self._episode.play(
                self._batch(step), self._engine, seed=derived_seed(self._engine.seed, "play", step)
            )
        except Exception:
            raise
        except BaseException:  # SIGTERM or Ctrl-C
            if self._keeper.newest != self._step and not self._watch.uneasy:
                self._save()
            raise

    def _batch(self, step: int) -> list[Q]:
        """Questions of a step: each passes once before any comes again, but for an epoch's incomplete last batch."""
        size = self._settings.batch_questions
        epoch, number = divmod(step - 1, len(self._questions) // size)
        order = np.random.default_rng(derived_seed(self._engine.seed, "order", epoch)).permutation(len(self._questions))
        return [self._questions[place] for place in order[number * size : (number + 1) * size]]

    def _judge(self, step: int) -> dict[str, float]:
        """Measure held-out questions, always with the same draws, and note the best step."""
        seed = derived_seed(self._engine.seed, "judge", 0)
        found = self._episode.judge(self._held_out, self._engine, seed=seed)
        figures = {name: float(value) for name, value in found.items()}
        require_finite(figures, step)
        if self._best.step < 0 or figures[SCORE] > self._best.score:
            self._best = Best(step, figures[SCORE], self._engine.weights())
        for report in self._reports:
            report.judged(step, figures)
        return {f"held_out/{name}": value for name, value in figures.items()}

    def _due(self, step: int) -> bool:
        """Whether a checkpoint should be written; one that an uneasy watch held back is written when it is calm."""
        newest = self._keeper.newest or 0
        return step - newest >= self._settings.checkpoints.every or step == self._settings.steps

    def _save(self) -> None:
        self._keeper.save(Position(self._step, self._engine.state(), self._best, self._watch.memory, self._curve))

    def _fall_back(self, error: Diverged) -> Diverged:
        """Put the last good weights into the engine."""
        position = self._keeper.load()
        last = "no step was good"
        if position is not None:
            self._engine.restore(position.state)
            last = f"the last good step is {position.step}, the best one on held-out questions {position.best.step}"
        self._keeper.mark_diverged()
        where = ", ".join(part for part in (error.where, f"checkpoints in {self._keeper.place}") if part)
        return Diverged(f"{error.what}; {last}", where=where, next_step=error.next_step)

"""The health watch: when a training has gone wrong (`settings.Health`).

Numbers that are not finite count at once, everything else when it holds for some steps running. While something is
wrong the watch is `uneasy`, and no checkpoint is written: so the newest checkpoint is always of a step at which
everything was right, and that is the last good step that a diverged training leaves behind. The watch's memory is part
of a checkpoint, so that a resumed run diverges where an uninterrupted one does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from faithline.pipeline.errors import Diverged
from faithline.rl.row import Row
from faithline.rl.settings import Health

__all__ = ["QUESTIONS", "Memory", "Watch", "degenerate_share", "require_finite"]

QUESTIONS = "questions_per_response"
"""Metric of an episode whose drift is watched."""


class Memory(msgspec.Struct, forbid_unknown_fields=True):
    """What a watch remembers from step to step."""

    streaks: dict[str, int]
    """Complaint → steps running."""
    questions: list[float]
    """Questions per response in the baseline's steps."""


class Watch:
    """Looks at every step's metrics."""

    def __init__(self, settings: Health, best_reward: float, memory: Memory | None = None) -> None:
        self._settings = settings
        self._best_reward = best_reward
        self.memory = memory or Memory(streaks={}, questions=[])

    @property
    def uneasy(self) -> bool:
        """Whether something is wrong that does not count as diverged yet."""
        return bool(self.memory.streaks)

    def look(self, step: int, rows: Sequence[Row], metrics: Mapping[str, float]) -> None:
        """Judge a step.

        Args:
            step: The training step.
            rows: Rows that it learned from.
            metrics: Of the step: `kl`, `entropy`, `degenerate`, and `questions_per_response` where there is one.

        Raises:
            Diverged: The training has gone wrong.
        """
        require_finite(metrics, step)
        complaints = self._complaints(rows, metrics)
        self.memory.streaks = {what: self.memory.streaks.get(what, 0) + 1 for what in complaints}
        for what, (text, next_step) in complaints.items():
            patience = self._settings.flat_steps if what == "flat" else self._settings.patience
            if self.memory.streaks[what] >= patience:
                raise _diverged(f"{text}, for {patience} steps running", step, next_step)

    def _complaints(self, rows: Sequence[Row], metrics: Mapping[str, float]) -> dict[str, tuple[str, str]]:
        """What is wrong at this step: a text and the next step."""
        limits, found = self._settings, {}
        rewards = {row.reward for row in rows}
        if len(rewards) == 1 < len(rows) and max(rewards) < self._best_reward:
            text = f"every row has the reward {max(rewards):g}: there is nothing to learn from"
            found["flat"] = (text, "warm-start the roles for longer, or choose a reward with more steps (ERR)")
        if metrics["kl"] > limits.max_kl:
            text = f"the divergence from the reference is {metrics['kl']:.3g} (limit {limits.max_kl:g})"
            found["kl"] = (text, "lower the learning rate or raise kl.coefficient")
        if metrics["entropy"] < limits.min_entropy:
            text = f"the policy's entropy is {metrics['entropy']:.3g} (limit {limits.min_entropy:g})"
            found["entropy"] = (text, "lower the learning rate or raise entropy_coefficient")
        if metrics["degenerate"] > limits.max_degenerate:
            text = f"{metrics['degenerate']:.0%} of the responses repeat themselves (limit {limits.max_degenerate:.0%})"
            found["degenerate"] = (text, "lower the learning rate or raise kl.coefficient")
        if QUESTIONS in metrics and self._asks_less(metrics[QUESTIONS]):
            baseline = sum(self.memory.questions) / len(self.memory.questions)
            text = f"responses get {metrics[QUESTIONS]:.3g} questions each, {baseline:.3g} at the start: they say less"
            found["questions"] = (text, "raise the penalty on few questions, or stop earlier")
        return found

    def _asks_less(self, questions: float) -> bool:
        known = self.memory.questions
        if len(known) < self._settings.baseline_steps:
            known.append(questions)
            return False
        return questions < self._settings.min_questions_share * sum(known) / len(known)


def require_finite(figures: Mapping[str, float], step: int) -> None:
    """Check measured numbers.

    Raises:
        Diverged: One is NaN or infinite.
    """
    broken = sorted(name for name, value in figures.items() if not math.isfinite(value))
    if broken:
        raise _diverged(f"{broken[0]} is {figures[broken[0]]}", step, "lower the learning rate")


def degenerate_share(rows: Sequence[Row], settings: Health) -> float:
    """Share of responses that repeat themselves."""
    flags = [
        len(row.response_ids) >= settings.min_tokens and _repeats(row.response_ids) >= settings.repeated_share
        for row in rows
    ]
    return sum(flags) / len(flags)


def _repeats(ids: Sequence[int]) -> float:
    """Share of a response's three-token runs that have come before in it."""
    runs = np.lib.stride_tricks.sliding_window_view(np.asarray(ids, dtype=np.int64), 3) if len(ids) >= 3 else None
    return 0.0 if runs is None else 1.0 - len(np.unique(runs, axis=0)) / len(runs)


def _diverged(what: str, step: int, next_step: str) -> Diverged:
    return Diverged(what, where=f"training step {step}", next_step=next_step)

"""Who is told how a training goes: the terminal and run log, TensorBoard, and the curve as a file.

A curve is a list of rows by step: step 0 holds the held-out figures before training (`held_out/<figure>`), later ones
the step's metrics and, where measured, held-out figures. It holds no time, so the same training gives the same file.
"""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from faithline.pipeline.log import Logger
from faithline.pipeline.progress import Progress

__all__ = ["Report", "StageReport", "TensorBoard", "write_curve"]

_SHOWN = ("reward", "kl", "entropy", "response_tokens", "questions_per_response")
"""Metrics of a step's line in the terminal; all of them are in the run log."""


class Report(Protocol):
    """Told what happens."""

    def begin(self, step: int) -> None:
        """Training goes on after this step: 0, or that of a checkpoint."""

    def stepped(self, step: int, metrics: Mapping[str, float], records: Sequence[Mapping[str, object]]) -> None:
        """A training step is done."""

    def judged(self, step: int, figures: Mapping[str, float]) -> None:
        """Held-out questions were measured."""

    def warn(self, what: str) -> None:
        """Something is odd, though training goes on."""


class StageReport:
    """A stage's terminal and run log.

    Args:
        log: The stage's.
        progress: Of as many units as there are steps.
        traces: File that gets the episodes' records as JSON lines; None: they are not kept.
        clock: Seconds.
    """

    def __init__(self, log: Logger, progress: Progress, traces: Path | None = None, clock: Any = time.monotonic):
        self._log = log
        self._progress = progress
        self._traces = traces
        self._clock = clock
        self._last = clock()

    def begin(self, step: int) -> None:
        """Count the steps of an earlier run as done."""
        self._last = self._clock()
        if step:
            self._log.info("resumed", step=step)
            self._progress.advance(step)

    def stepped(self, step: int, metrics: Mapping[str, float], records: Sequence[Mapping[str, object]]) -> None:
        """Show the main metrics and log all of them."""
        seconds, self._last = self._clock() - self._last, self._clock()
        shown = {name: metrics[name] for name in _SHOWN if name in metrics}
        self._log.info("step", step=step, seconds=round(seconds, 1), **shown)
        self._log.record("metrics", step=step, **metrics)
        self._progress.advance(1)
        if self._traces is not None:
            with self._traces.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps({"step": step, **one}, ensure_ascii=False) + "\n" for one in records)

    def judged(self, step: int, figures: Mapping[str, float]) -> None:
        """Show all figures."""
        self._log.info("held out", step=step, **figures)
        self._last = self._clock()

    def warn(self, what: str) -> None:
        """Show it."""
        self._log.warning(what)


class TensorBoard:
    """Event files for TensorBoard in a folder; a resumed run adds a file of its own."""

    def __init__(self, folder: Path) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._folder = folder
        self._open = SummaryWriter
        self._writer: Any = None

    def begin(self, step: int) -> None:
        """Let steps that will be done again vanish from the view."""
        self._writer = self._open(str(self._folder), purge_step=step + 1)

    def stepped(self, step: int, metrics: Mapping[str, float], _records: Sequence[Mapping[str, object]]) -> None:
        """Write all metrics."""
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def judged(self, step: int, figures: Mapping[str, float]) -> None:
        """Write all figures."""
        for name, value in figures.items():
            self._writer.add_scalar(f"held_out/{name}", value, step)
        self._writer.flush()

    def warn(self, what: str) -> None:
        """Leave it to the log."""


def write_curve(curve: Sequence[Mapping[str, float]], path: Path) -> None:
    """Write a curve as CSV, `step` first; a cell is empty where nothing was measured.

    Six digits: the last bits of a sum depend on how threads shared it, and a curve is compared by its hash.
    """
    names = sorted({name for row in curve for name in row} - {"step"})
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["step", *names], lineterminator="\n")
        writer.writeheader()
        # Steps that have been through a checkpoint are floats.
        for row in curve:
            shown = {name: float(f"{round(value, 8):.6g}") for name, value in row.items()}
            writer.writerow({**shown, "step": int(row["step"])})

"""How long a stage takes and what it costs, from the run logs of earlier runs or, without any, from its time limit.

Bounds, not guesses: with earlier runs under the same settings, the shortest and the longest of them; else of all
earlier runs; without any, nothing to every attempt up to its time limit. A task pays the largest share of a node's
cores, memory or GPUs that it takes, for that is what others cannot have.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faithline.cluster.resources import Resources
from faithline.cluster.settings import Pool

__all__ = ["Range", "Usage", "durations", "usage"]


@dataclass(frozen=True)
class Range:
    """From low to high."""

    low: float
    high: float

    def times(self, factor: float) -> Range:
        """Scale both ends."""
        return Range(self.low * factor, self.high * factor)

    def plus(self, other: Range) -> Range:
        """Add end by end."""
        return Range(self.low + other.low, self.high + other.high)


@dataclass(frozen=True)
class Usage:
    """What running a stage once takes."""

    hours: Range
    gpu_hours: Range
    cost: Range
    basis: str
    """Where the hours come from."""


def durations(log: Path, params: Mapping[str, Any]) -> tuple[list[float], list[float]]:
    """Return the seconds of earlier complete runs: those under the same settings, and all.

    Args:
        log: The stage's run log, JSON lines; a broken line (a run that was killed) is passed over.
        params: The settings as they are now.
    """
    same: list[float] = []
    every: list[float] = []
    started: object = None
    for line in log.read_text(encoding="utf-8").splitlines() if log.is_file() else []:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if event.get("event") == "start":
            started = event.get("params")
        elif event.get("event") == "done" and isinstance(event.get("seconds"), (int, float)):
            every.append(float(event["seconds"]))
            if started == params:
                same.append(float(event["seconds"]))
            started = None
    return same, every


def usage(wanted: Resources, pool: Pool, same: list[float], every: list[float]) -> Usage:
    """Estimate one run of a stage on its pool."""
    if same:
        hours, basis = _hours(same), f"{_runs(len(same))} with these settings"
    elif every:
        hours, basis = _hours(every), f"{_runs(len(every))} with other settings"
    else:
        limit = wanted.timeout_s * (1 + wanted.retries) / 3600
        hours, basis = Range(0.0, limit), f"no earlier run; {1 + wanted.retries} x time limit"
    shares = [wanted.cpu / pool.cpu, wanted.memory_gib / pool.memory_gib]
    if pool.gpu:
        shares.append(wanted.gpus / pool.gpu.per_node)
    return Usage(
        hours=hours,
        gpu_hours=hours.times(wanted.nodes * wanted.gpus),
        cost=hours.times(wanted.nodes * max(shares) * pool.price_per_hour),
        basis=basis,
    )


def _hours(seconds: list[float]) -> Range:
    return Range(min(seconds) / 3600, max(seconds) / 3600)


def _runs(number: int) -> str:
    return "1 earlier run" if number == 1 else f"{number} earlier runs"

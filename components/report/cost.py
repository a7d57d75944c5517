"""What a run worked through, in tokens: the cost that is the same on every machine.

Hours and prices depend on where it ran and are in the run log; `faithline plan` estimates them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from components.report.sources import Metrics

__all__ = ["Cost", "costs"]

_WORK = (
    ("warm_start", "trained on", "tokens", "examples", "example"),
    ("build_index", "embedded", None, "documents", "passage"),
    ("answer", "read to answer", "prompt_tokens", "questions", "question"),
    ("answer", "written to answer", "new_tokens", "questions", "question"),
)


@dataclass(frozen=True)
class Cost:
    """One kind of work."""

    stage: str
    work: str
    tokens: int
    per_item: float
    item: str


def costs(metrics: Mapping[str, Metrics | None]) -> list[Cost]:
    """Read the work off the stages' metrics; a stage whose metrics do not tell is left out."""
    found = []
    for stage, work, total, items, item in _WORK:
        values = metrics.get(f"metrics/{stage}.json") or {}
        count = _number(values.get(items))
        tokens = _number(values.get(total)) if total else _number(values.get("mean_tokens")) * count
        if count and tokens:
            found.append(Cost(stage, work, round(tokens), tokens / count, item))
    return found


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0

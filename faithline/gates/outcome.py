"""What the gates decided: counts per suite and every failed expectation, as JSON and as one message."""

from __future__ import annotations

import msgspec

from faithline.gates.tally import show
from faithline.pipeline.errors import DataInvalid

__all__ = ["Failure", "Outcome", "SuiteOutcome"]

_SHOWN = 8
"""Failures written out in the message; all are in the JSON and in the Data Docs."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """One expectation that does not hold."""

    column: str
    """`table.column`"""
    measure: str
    observed: float | str | None
    """None: there was nothing to measure it on."""
    limit: str
    """What was demanded, e.g. "at most 0.02"."""
    examples: tuple[str, ...]
    """The first offending rows or values."""

    def __str__(self) -> str:
        examples = f" (e.g. {', '.join(self.examples)})" if self.examples else ""
        return f"{self.column}: {self.measure}: observed {show(self.observed)}, limit {self.limit}{examples}"


class SuiteOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one suite; it passed if everything declared was evaluated and held."""

    declared: int
    evaluated: int
    """Expectations that gave a verdict: one that raised or was lost is missing here, and fails the gate."""
    held: int
    failed: tuple[Failure, ...]
    lost: tuple[str, ...]
    """`column: measure` of declared expectations without a verdict, and why."""

    @property
    def passed(self) -> bool:
        """Whether the gate opens."""
        return self.declared == self.evaluated == self.held and not self.failed and not self.lost


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Result of all suites."""

    suites: dict[str, SuiteOutcome]
    """`layout` and `values` (the tables as a whole), then one per set."""

    @property
    def passed(self) -> bool:
        """Whether all gates open; without a suite none does."""
        return bool(self.suites) and all(suite.passed for suite in self.suites.values())

    def as_json(self) -> dict[str, object]:
        """Return plain values, the verdicts included."""
        suites = {name: {"passed": suite.passed, **msgspec.to_builtins(suite)} for name, suite in self.suites.items()}
        return {"passed": self.passed, "suites": suites}

    def require_passed(self, *, where: str, next_step: str) -> None:
        """Stop the run if a gate is shut.

        Raises:
            DataInvalid: Naming set, column, observed value and limit of the failures.
        """
        if self.passed:
            return
        lines = [f"{name}: {text}" for name, suite in self.suites.items() for text in _lines(suite)]
        more = [f"... and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
        what = "\n  - ".join(["the data gate is shut", *(lines[:_SHOWN] or ["no suite was evaluated"]), *more])
        raise DataInvalid(what, where=where, next_step=next_step)


def _lines(suite: SuiteOutcome) -> list[str]:
    if suite.passed:
        return []
    lines = [*map(str, suite.failed), *(f"not evaluated: {lost}" for lost in suite.lost)]
    return lines or [f"{suite.evaluated} of {suite.declared} expectations were evaluated, {suite.held} held"]

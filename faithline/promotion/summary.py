"""The verdict as a page shows it: a headline, a colour, rows of tables, all plain values.

Pure functions of a `Verdict`; whoever renders them escapes them. Shares are in points of a hundred.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from faithline.promotion.checks import Decision, interval, points
from faithline.promotion.verdict import Verdict, read_verdict

__all__ = ["ABSENT", "Row", "Summary", "read_summary", "summarise", "told"]

_HEADLINES: dict[Decision, str] = {
    "promote": "Promote the candidate",
    "keep": "Keep the champion",
    "undecided": "Undecided: the champion stays",
}
_RESULTS: dict[Decision, str] = {"promote": "shown", "keep": "refuted", "undecided": "open"}
ABSENT = "–"
"""Stands where there is no champion to compare with."""


@dataclass(frozen=True)
class Row:
    """One check or slice."""

    name: str
    rule: str
    n: int
    candidate: str
    champion: str
    difference: str
    """With its interval."""
    p: str
    result: str
    """`shown`, `refuted` or `open`."""


@dataclass(frozen=True)
class Summary:
    """What stands on top of the page."""

    verdict: Decision
    headline: str
    against: str
    reasons: list[str]
    checks: list[Row]
    slices: list[Row]
    """Slices with a loss that is shown or suspected, worst first."""
    slices_seen: int
    power: str
    """What the comparison could show; "" where there is nothing to say."""


def read_summary(path: Path) -> Summary:
    """Read the verdict of the stage `compare`.

    Raises:
        DataInvalid: If it is missing or broken.
    """
    return summarise(read_verdict(path))


def summarise(verdict: Verdict) -> Summary:
    """Lay out a verdict."""
    champion = f"champion {verdict.champion}" if verdict.champion else "no champion yet"
    headline = _HEADLINES[verdict.verdict]
    if verdict.champion is None and verdict.verdict != "promote":
        headline = "Not promoted; there is no champion yet"
    checks = [
        Row(
            name=check.metric,
            rule=check.rule,
            n=check.n,
            candidate=points(check.candidate),
            champion=ABSENT if check.champion is None else points(check.champion),
            difference=f"[{points(check.lo)}, {points(check.hi)}]"
            if check.difference is None
            else interval(check.difference, check.lo, check.hi),
            p=ABSENT if check.p is None else f"{check.p:.4f}",
            result=_RESULTS[check.says],
        )
        for check in verdict.checks
    ]
    bad = sorted((part for part in verdict.slices if part.says != "promote"), key=lambda part: (part.p_holm, part.p))
    slices = [
        Row(
            name=", ".join(f"{key} {value}" for key, value in part.where.items()),
            rule=part.metric,
            n=part.n,
            candidate=ABSENT,
            champion=ABSENT,
            difference=interval(part.difference, part.lo, part.hi),
            p=f"{part.p:.4f} (Holm {part.p_holm:.4f})",
            result=_RESULTS[part.says],
        )
        for part in bad
    ]
    return Summary(
        verdict=verdict.verdict,
        headline=headline,
        against=f"{champion}, {verdict.items} questions, alpha {verdict.alpha:g} one-sided",
        reasons=verdict.reasons,
        checks=checks,
        slices=slices,
        slices_seen=len(verdict.slices),
        power=_power(verdict),
    )


def told(summary: Summary) -> str:
    """Write the verdict and its reasons in lines, for a terminal."""
    lines = [f"verdict: {summary.headline} ({summary.against})", *(f"  {reason}" for reason in summary.reasons)]
    return "\n".join(lines)


def _power(verdict: Verdict) -> str:
    if verdict.champion is None:
        return ""
    found = verdict.detectable_improvement
    could = (
        f"These items show a fall of the hallucination rate by {points(found)} points with probability 0.8"
        if found is not None
        else "No fall of the hallucination rate would be shown on these items with probability 0.8"
    )
    needed = (
        f"; the least improvement worth a change needs about {verdict.items_needed}" if verdict.items_needed else ""
    )
    return f"{could}{needed}."

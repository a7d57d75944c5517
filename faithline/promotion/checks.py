"""The conditions of a promotion, one by one: what is measured, what it says, and the sentence a reader gets.

A finding says promote (the condition is shown), keep (it is refuted) or undecided. Random streams are named by metric
and slice, so a check does not depend on which others are made.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from faithline.promotion.pairing import Floats, Items, Paired
from faithline.promotion.settings import Promote
from faithline.promotion.statistics import Difference, compare, holm, mean_bounds

__all__ = [
    "DIGITS",
    "Check",
    "Decision",
    "Finding",
    "SliceCheck",
    "at_least",
    "difference",
    "fewer",
    "not_lower",
    "slices",
]

Decision = Literal["promote", "keep", "undecided"]
DIGITS = 6
"""Decimals kept: the last bits of a sum depend on the processor, and files must not."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One condition of a promotion."""

    metric: str
    rule: str
    """What must be shown, in words."""
    n: int
    candidate: float
    champion: float | None
    """None for a first candidate."""
    difference: float | None
    lo: float
    hi: float
    """Interval of the difference; of the candidate's own mean for a first candidate."""
    p: float | None
    """One-sided p-value of the condition."""
    says: Decision


class SliceCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One slice that was looked at for harm."""

    where: dict[str, str]
    metric: str
    n: int
    difference: float
    lo: float
    hi: float
    p: float
    """p-value of harm beyond the margin, by itself."""
    p_holm: float
    """The same among all slices."""
    says: Decision


@dataclass(frozen=True)
class Finding:
    """A condition and what it means."""

    check: Check
    text: str


def difference(ours: Floats, theirs: Floats, settings: Promote, name: str) -> Difference | None:
    """Compare the items that both sides have a score for; None if there is none."""
    both = ~(np.isnan(ours) | np.isnan(theirs))
    if not both.any():
        return None
    rng = _rng(settings, name)
    return compare(ours[both], theirs[both], alpha=settings.alpha, samples=settings.bootstrap_samples, rng=rng)


def not_lower(metric: str, found: Difference, margin: float, settings: Promote) -> Finding:
    """The candidate does not lose more than `margin`."""
    p = found.p_above(-margin)
    says = _says(shown=p <= settings.alpha, refuted=found.p_below(-margin) <= settings.alpha)
    word = {"promote": "excluded", "keep": "shown", "undecided": "not excluded"}[says]
    text = f"{metric} {_change(found)}: a loss of more than {points(margin)} is {word}"
    return Finding(_check(metric, f"not lower by more than {points(margin)}", found, p, says), text)


def fewer(metric: str, found: Difference, settings: Promote) -> Finding:
    """The candidate has less of it; an improvement too small to matter counts against it."""
    p, least = found.p_below(0.0), settings.min_improvement
    too_small = found.p_above(-least) <= settings.alpha
    says = _says(shown=p <= settings.alpha and not too_small, refuted=too_small)
    words: dict[Decision, str] = {
        "promote": "it is lower",
        "keep": f"an improvement of {points(least)} is excluded",
        "undecided": "that it is lower is not shown",
    }
    return Finding(_check(metric, "lower", found, p, says), f"{metric} {_change(found)}: {words[says]}")


def at_least(metric: str, scores: Floats, bar: float, settings: Promote, *, upside: bool) -> Finding:
    """A first candidate's mean is on the right side of a bar; a bar at the end of the scale asks nothing.

    Args:
        metric: Name of the score.
        scores: One per item, no NaN, at least one.
        bar: Where the bar is.
        settings: The gate's settings.
        upside: Whether more is better.
    """
    lo, hi = mean_bounds(scores, alpha=settings.alpha, samples=settings.bootstrap_samples, rng=_rng(settings, metric))
    mean = float(scores.mean())
    shown, refuted = (lo >= bar or bar == 0, hi < bar) if upside else (hi <= bar or bar == 1, lo > bar)
    says = _says(shown=shown, refuted=refuted)
    side = f"at {'least' if upside else 'most'} {points(bar)}"
    lo, hi, mean = (round(number, DIGITS) for number in (lo, hi, mean))
    check = Check(
        metric=metric, rule=f"{side}, as there is no champion", n=scores.size, candidate=mean, champion=None,
        difference=None, lo=lo, hi=hi, p=None, says=says,
    )  # fmt: skip
    text = f"{metric} {points(mean)} [{points(lo)}, {points(hi)}]: {side} is required of a first candidate"
    return Finding(check, text)


def slices(paired: Paired, settings: Promote) -> list[SliceCheck]:
    """Look at every slice that is large enough for a loss beyond the margin."""
    ours, theirs, guard = paired.candidate, paired.champion, settings.slices
    found: list[tuple[dict[str, str], str, Difference, float]] = []
    for label, value, inside in _members(ours, guard.by):
        for metric in ("f1", "hallucination_rate"):
            a, b = (side.f1 if metric == "f1" else side.hallucinated for side in (ours, theirs))
            between = difference(a[inside], b[inside], settings, f"{metric}\0{label}={value}")
            if between is not None and between.n >= guard.min_items:
                harm = between.p_below(-guard.margin) if metric == "f1" else between.p_above(guard.margin)
                found.append(({label: value}, metric, between, harm))
    adjusted = holm([harm for *_, harm in found])
    return [
        SliceCheck(
            where=where,
            metric=metric,
            n=between.n,
            difference=round(between.mean, DIGITS),
            lo=round(between.lo, DIGITS),
            hi=round(between.hi, DIGITS),
            p=round(harm, DIGITS),
            p_holm=round(among, DIGITS),
            says="keep" if among <= settings.alpha else "undecided" if harm <= settings.alpha else "promote",
        )
        for (where, metric, between, harm), among in zip(found, adjusted, strict=True)
    ]


def points(share: float, *, sign: bool = False) -> str:
    """Write a share in points of a hundred."""
    return f"{100 * share:+.1f}" if sign else f"{100 * share:.1f}"


def _members(items: Items, by: Sequence[str]) -> list[tuple[str, str, npt.NDArray[np.bool_]]]:
    found = []
    for label in by:
        column = np.asarray(items.labels[label])
        values = sorted({str(value) for value in column} - {""})
        found += [(label, value, column == value) for value in values if len(values) > 1]
    return found


def _says(*, shown: bool, refuted: bool) -> Decision:
    return "promote" if shown else "keep" if refuted else "undecided"


def _check(metric: str, rule: str, found: Difference, p: float, says: Decision) -> Check:
    candidate, champion, mean, lo, hi, p = (
        round(number, DIGITS) for number in (found.candidate, found.champion, found.mean, found.lo, found.hi, p)
    )
    return Check(
        metric=metric, rule=rule, n=found.n, candidate=candidate, champion=champion, difference=mean, lo=lo, hi=hi,
        p=p, says=says,
    )  # fmt: skip


def _change(found: Difference) -> str:
    return f"{points(found.champion)} -> {points(found.candidate)} ({interval(found.mean, found.lo, found.hi)})"


def interval(mean: float, lo: float, hi: float) -> str:
    """Write a difference with its interval, in points."""
    return f"{points(mean, sign=True)} [{points(lo, sign=True)}, {points(hi, sign=True)}]"


def _rng(settings: Promote, name: str) -> np.random.Generator:
    words = np.frombuffer(hashlib.sha256(name.encode()).digest(), dtype="<u4")
    return np.random.default_rng([settings.bootstrap_seed, *words.tolist()])

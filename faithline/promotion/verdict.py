"""The verdict on a candidate: promote, keep the champion, or undecided, each with its reasons.

Promote when everything that must be shown is shown: F1 and answer rate not lower by more than their margins,
hallucination rate lower, no slice looking worse than its margin. Keep when harm is shown, or when the improvement is
shown to be smaller than one worth a change. Undecided is the rest: too few items, or intervals too wide. The conditions
of a promotion are joined by "and" (an intersection-union test), so each may be tested at alpha and a false promotion
still has probability alpha at most; the slices are many chances to find harm, so that a slice alone keeps the champion
only after Holm's correction, while without it a suspicion is enough to withhold the promotion.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from faithline.pipeline.errors import DataInvalid
from faithline.promotion.checks import (
    DIGITS,
    Check,
    Decision,
    Finding,
    SliceCheck,
    at_least,
    difference,
    fewer,
    interval,
    not_lower,
    slices,
)
from faithline.promotion.pairing import Items, Paired
from faithline.promotion.planning import Design, detectable_improvement, items_needed
from faithline.promotion.settings import Promote

__all__ = ["VERDICT", "Verdict", "decide", "decide_first", "read_verdict"]

VERDICT = "data/comparison/verdict.json"
"""Where the stage `compare` writes it."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the gate says."""

    verdict: Decision
    reasons: list[str]
    champion: str | None
    """Version of the champion compared with; None: there was none."""
    items: int
    items_digest: str
    unjudged: int
    """Items without a hallucination verdict on both sides."""
    alpha: float
    checks: list[Check]
    slices: list[SliceCheck]
    detectable_improvement: float | None
    """Fall of the hallucination rate that these items show with probability 0.8; None: none, or no champion."""
    items_needed: int | None
    """Items that show `min_improvement` with probability 0.8; None: too many, or no champion."""


def decide(paired: Paired, settings: Promote, champion: str) -> Verdict:
    """Compare a candidate with the champion.

    Args:
        paired: Both evaluations.
        settings: The gate's settings.
        champion: Version of the champion.
    """
    ours, theirs = paired.candidate, paired.champion
    f1 = difference(ours.f1, theirs.f1, settings, "f1")
    answered = difference(ours.answered, theirs.answered, settings, "answer_rate")
    hallucinated = difference(ours.hallucinated, theirs.hallucinated, settings, "hallucination_rate")
    findings: list[Finding] = []
    detectable = needed = None
    if f1:
        findings.append(not_lower("f1", f1, settings.f1_margin, settings))
    if answered:
        findings.append(not_lower("answer_rate", answered, settings.answer_rate_margin, settings))
    if hallucinated:
        findings.append(fewer("hallucination_rate", hallucinated, settings))
    if f1 and hallucinated:
        design = Design(settings.alpha, settings.f1_margin, f1.spread, hallucinated.spread)
        detectable = detectable_improvement(design, min(f1.n, hallucinated.n))
        needed = items_needed(design, settings.min_improvement)
    sizes = {"f1": f1.n if f1 else 0, "hallucination_rate": hallucinated.n if hallucinated else 0}
    return _verdict(
        ours,
        settings,
        champion,
        sizes,
        findings,
        parts=slices(paired, settings),
        detectable=detectable,
        needed=needed,
    )


def decide_first(items: Items, settings: Promote) -> Verdict:
    """Hold a candidate against the bars for a first one."""
    f1, hallucinated = (column[~np.isnan(column)] for column in (items.f1, items.hallucinated))
    first, findings = settings.first, []
    if f1.size:
        findings.append(at_least("f1", f1, first.min_f1, settings, upside=True))
    if hallucinated.size:
        bar = first.max_hallucination_rate
        findings.append(at_least("hallucination_rate", hallucinated, bar, settings, upside=False))
    sizes = {"f1": f1.size, "hallucination_rate": hallucinated.size}
    return _verdict(items, settings, None, sizes, findings, parts=[], detectable=None, needed=None)


def read_verdict(path: Path) -> Verdict:
    """Read what the stage `compare` wrote.

    Raises:
        DataInvalid: If it is missing or broken.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=Verdict)
    except FileNotFoundError:
        raise DataInvalid("input not found", where=str(path), next_step="run `dvc repro compare`") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataInvalid(f"broken file: {error}", where=str(path), next_step="run `dvc repro -f compare`") from None


def _verdict(
    items: Items,
    settings: Promote,
    champion: str | None,
    sizes: dict[str, int],
    findings: list[Finding],
    *,
    parts: list[SliceCheck],
    detectable: float | None,
    needed: int | None,
) -> Verdict:
    unjudged = len(items.ids) - sizes["hallucination_rate"]
    short = _too_little(sizes, len(items.ids), unjudged, settings)
    said = [finding.check.says for finding in findings] + [part.says for part in parts]
    verdict: Decision = "promote"
    if short or ("undecided" in said and "keep" not in said):
        verdict = "undecided"
    elif "keep" in said:
        verdict = "keep"
    reasons = [finding.text for finding in findings if finding.check.says == verdict or short]
    reasons += [_told(part) for part in parts if part.says != "promote" and part.says == verdict]
    return Verdict(
        verdict=verdict,
        reasons=short + reasons,
        champion=champion,
        items=len(items.ids),
        items_digest=items.digest,
        unjudged=unjudged,
        alpha=settings.alpha,
        checks=[finding.check for finding in findings],
        slices=parts,
        detectable_improvement=None if detectable is None else round(detectable, DIGITS),
        items_needed=needed,
    )


def _too_little(sizes: dict[str, int], items: int, unjudged: int, settings: Promote) -> list[str]:
    short = [
        f"{n} items have {metric} on both sides, at least {settings.min_items} are required"
        for metric, n in sizes.items()
        if n < settings.min_items
    ]
    if unjudged > settings.max_unjudged * items:
        short.append(
            f"{unjudged} of {items} items have no hallucination verdict, at most {settings.max_unjudged:.0%} may"
        )
    return short


def _told(part: SliceCheck) -> str:
    name = ", ".join(f"{key} {value}" for key, value in part.where.items())
    word = "shown" if part.says == "keep" else "suspected"
    change = interval(part.difference, part.lo, part.hi)
    return f"{part.metric} on {name} {change} over {part.n} items: a loss beyond the slice margin is {word}"

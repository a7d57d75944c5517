"""How far two judges agree beyond chance: Cohen's kappa. Items that either judge failed on are left out and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

import msgspec

__all__ = ["Agreement", "agreement"]


class Agreement(msgspec.Struct, frozen=True):
    """Agreement of two judges."""

    n: int
    """Items that both judged."""
    failed: int
    """Items without a verdict of one or both."""
    observed: float | None
    """Share of equal verdicts; None without items."""
    kappa: float | None
    """Cohen's kappa; None where chance alone would agree always (both give one and the same verdict throughout)."""


def agreement(first: Sequence[Hashable | None], second: Sequence[Hashable | None]) -> Agreement:
    """Compare the verdicts of two judges on the same items; None is a failure.

    Raises:
        ValueError: If they judged different numbers of items.
    """
    if len(first) != len(second):
        raise ValueError(f"not the same items: {len(first)} and {len(second)} verdicts")
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    n = len(pairs)
    if not n:
        return Agreement(0, len(first), None, None)
    observed = sum(a == b for a, b in pairs) / n
    ours, theirs = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    chance = sum(ours[verdict] * theirs[verdict] for verdict in ours) / n**2
    kappa = None if chance == 1 else (observed - chance) / (1 - chance)
    return Agreement(n, len(first) - n, round(observed, 6), None if kappa is None else round(kappa, 6))

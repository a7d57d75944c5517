"""What a comparison can show: detectable improvement and items needed, by the normal approximation.

The gate promotes when F1 is shown non-inferior and the hallucination rate superior. The power of both together is taken
as the product of the two, and the guard of the slices, which withholds some promotions, is not in it. Therefore a
little more than the promised power is asked of the approximation; `benchmarks/promotion_power.py` holds the promise
against simulation.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

__all__ = ["POWER", "Design", "detectable_improvement", "items_needed", "power"]

POWER = 0.8
"""Least probability of finding what is called detectable."""
_ASKED = 0.83
"""Power asked of the approximation: simulated power was up to 1.1 points below it (20 % discordance, 1500 items)."""
_NORMAL = NormalDist()
_MOST_ITEMS = 10_000_000


@dataclass(frozen=True)
class Design:
    """What decides the power of a comparison."""

    alpha: float
    f1_margin: float
    f1_spread: float
    """Standard deviation of the difference in F1 per item."""
    hallucination_spread: float
    """Standard deviation of the difference in hallucination per item: the square root of the share of items on which
    exactly one of the two hallucinates, nearly."""


def power(design: Design, items: int, improvement: float) -> float:
    """Probability of a promotion when F1 is equal and the hallucination rate falls by `improvement`."""
    critical = _NORMAL.inv_cdf(1 - design.alpha)

    def passes(effect: float, spread: float) -> float:
        error = ((spread**2 + 2 / (items + 2)) / items) ** 0.5  # the two imaginary items of `statistics`
        return _NORMAL.cdf(effect / error - critical)

    return passes(design.f1_margin, design.f1_spread) * passes(improvement, design.hallucination_spread)


def detectable_improvement(design: Design, items: int) -> float | None:
    """Smallest fall of the hallucination rate that is found with probability `POWER` at least; None if none is."""
    if items < 1 or power(design, items, 1.0) < _ASKED:
        return None
    lo, hi = 0.0, 1.0
    for _ in range(40):
        middle = (lo + hi) / 2
        lo, hi = (lo, middle) if power(design, items, middle) >= _ASKED else (middle, hi)
    return hi


def items_needed(design: Design, improvement: float) -> int | None:
    """Fewest items that find `improvement` with probability `POWER` at least; None if ten million do not."""
    if power(design, _MOST_ITEMS, improvement) < _ASKED:
        return None
    lo, hi = 0, _MOST_ITEMS
    while hi - lo > 1:
        middle = (lo + hi) // 2
        lo, hi = (lo, middle) if power(design, middle, improvement) >= _ASKED else (middle, hi)
    return hi

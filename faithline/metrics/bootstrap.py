"""Percentile bootstrap of a mean: items are drawn with replacement, the interval is cut from the means of the draws.

Items of equal value are interchangeable, so a draw is how often each distinct value came up: a multinomial vector, the
same distribution as drawing items one by one and hundreds of times fewer numbers (scores take few values). It also
makes the interval independent of the items' order. Items are the unit: questions are treated as independent, and what a
model trained with another seed would answer is not in the interval.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Interval", "mean_interval", "paired_difference", "resampled_means"]

Floats = npt.NDArray[np.float64]

_CELLS = 2**21
"""Counts held at once: 16 MiB as int64."""


class Interval(NamedTuple):
    """A mean with its interval."""

    mean: float
    lo: float
    hi: float


def mean_interval(values: Floats, samples: int, confidence: float, rng: np.random.Generator) -> Interval:
    """Mean over items and its percentile interval.

    Args:
        values: Shape (items,), at least one item, no NaN.
        samples: Number of bootstrap draws.
        confidence: Mass of the interval, e.g. 0.95.
        rng: Source of the draws.

    Raises:
        ValueError: If there is no item or a value is not finite.
    """
    tail = (1 - confidence) / 2
    lo, hi = np.quantile(resampled_means(values, samples, rng), [tail, 1 - tail])
    return Interval(float(values.mean()), float(lo), float(hi))


def paired_difference(
    candidate: Floats, champion: Floats, samples: int, confidence: float, rng: np.random.Generator
) -> Interval:
    """Mean of candidate minus champion over the same items, with its interval.

    Args:
        candidate: Shape (items,).
        champion: Same shape, same items in the same order.
        samples: Number of bootstrap draws.
        confidence: Mass of the interval.
        rng: Source of the draws.

    Raises:
        ValueError: If the shapes differ, there is no item, or a value is not finite.
    """
    if candidate.shape != champion.shape:
        raise ValueError(f"not paired: shapes {candidate.shape} and {champion.shape}")
    return mean_interval(candidate - champion, samples, confidence, rng)


def resampled_means(values: Floats, samples: int, rng: np.random.Generator) -> Floats:
    """Means of `samples` draws of all items with replacement, shape (samples,)."""
    if values.size == 0 or not np.isfinite(values).all():
        raise ValueError("the bootstrap needs at least one item and finite values")
    distinct, times = np.unique(values, return_counts=True)
    means = np.empty(samples)
    step = max(1, _CELLS // distinct.size)
    for start in range(0, samples, step):
        drawn = rng.multinomial(values.size, times / values.size, size=min(step, samples - start))
        means[start : start + len(drawn)] = drawn @ distinct / values.size
    return means

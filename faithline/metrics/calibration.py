"""Calibration of confidences: expected calibration error, Brier score, reliability bins.

Bins are of equal width over 0..1 (Guo et al. 2017); each but the first excludes its lower edge, so 1.0 is in the last
one and 0.0 in the first. Empty bins are left out. The error is the mean gap between confidence and accuracy, weighted
by the items of each bin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Bin", "brier", "expected_calibration_error", "reliability"]

Floats = npt.NDArray[np.float64]


class Bin(NamedTuple):
    """Items whose confidence lies in one interval."""

    lo: float
    hi: float
    n: int
    confidence: float
    """Mean confidence."""
    accuracy: float
    """Share that is correct."""


def reliability(confidence: Floats, correct: Floats, bins: int) -> list[Bin]:
    """Group items by confidence; the points of a reliability diagram.

    Args:
        confidence: Shape (items,), each in 0..1.
        correct: Shape (items,), each 0 or 1.
        bins: Number of intervals.

    Raises:
        ValueError: If shapes differ, nothing is there, or a value lies outside its range.
    """
    _check(confidence, correct)
    if bins < 1:
        raise ValueError("at least one bin")
    place = np.clip(np.ceil(confidence * bins).astype(np.int64) - 1, 0, bins - 1)
    counts = np.bincount(place, minlength=bins)
    means = [
        np.bincount(place, weights=values, minlength=bins) / np.maximum(counts, 1) for values in (confidence, correct)
    ]
    return [
        Bin(index / bins, (index + 1) / bins, int(counts[index]), float(means[0][index]), float(means[1][index]))
        for index in np.flatnonzero(counts).tolist()
    ]


def expected_calibration_error(confidence: Floats, correct: Floats, bins: int) -> float:
    """Mean gap between confidence and accuracy over the bins; arguments as in `reliability`."""
    found = reliability(confidence, correct, bins)
    return sum(part.n * abs(part.confidence - part.accuracy) for part in found) / confidence.size


def brier(confidence: Floats, correct: Floats) -> float:
    """Mean squared gap between confidence and outcome."""
    _check(confidence, correct)
    return float(np.mean((confidence - correct) ** 2))


def _check(confidence: Floats, correct: Floats) -> None:
    if confidence.shape != correct.shape or confidence.ndim != 1 or not confidence.size:
        raise ValueError(
            f"confidences and outcomes need one common shape (items,): {confidence.shape}, {correct.shape}"
        )
    if not ((confidence >= 0) & (confidence <= 1)).all():
        raise ValueError("a confidence lies outside 0..1 or is NaN")
    if not ((correct == 0) | (correct == 1)).all():
        raise ValueError("an outcome is neither 0 nor 1")

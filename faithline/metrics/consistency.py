"""Consistency over several samples per question: the majority of a judge's verdicts, with a rule for ties.

MARCH's protocol (§3.2): eight answers per query, a judge's verdict on each, the majority counts. The paper leaves ties
(4 to 4) open; here a tie is not consistent, and how often it happened is reported. A sample on which the judge failed
(NaN) casts no vote; a question on which it failed throughout has no verdict.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Majority", "majority"]

Floats = npt.NDArray[np.float64]


class Majority(NamedTuple):
    """What the samples of each question say together."""

    consistent: Floats
    """Shape (questions,): 1 or 0; NaN where the judge failed on every sample."""
    tied: npt.NDArray[np.bool_]
    """Shape (questions,): as many votes for as against, at least one of each."""
    failed: npt.NDArray[np.int64]
    """Shape (questions,): samples without a verdict."""


def majority(verdicts: Floats) -> Majority:
    """Count the votes of each question's samples.

    Args:
        verdicts: Shape (questions, samples): 1 consistent, 0 not, NaN the judge failed.

    Raises:
        ValueError: If the array has another shape or holds another value.
    """
    if verdicts.ndim != 2 or not verdicts.shape[1]:
        raise ValueError(f"verdicts need the shape (questions, samples), not {verdicts.shape}")
    if not (np.isnan(verdicts) | (verdicts == 0) | (verdicts == 1)).all():
        raise ValueError("a verdict is 1, 0 or NaN")
    votes = (verdicts == 1).sum(axis=1)
    against = (verdicts == 0).sum(axis=1)
    consistent = np.where(votes + against == 0, np.nan, (votes > against).astype(np.float64))
    return Majority(consistent, (votes == against) & (votes > 0), np.isnan(verdicts).sum(axis=1))

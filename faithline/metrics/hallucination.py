"""Whether an answer is a hallucination, told without a model: two rules, both per answer, both a lower bound.

`wrong`: an answer was given that shares no word with any gold answer, or was given although the documents do not hold
one. `unfound`: an answer was given whose words stand in none of the passages shown, in a row and under the strict
normalisation; it needs no gold answers but cannot judge a yes or no, nor words of the model's own. What says nothing
(abstained, malformed, empty) is no hallucination: the answer rate always stands beside the rate. NaN = cannot be told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from faithline.metrics.normalise import strict, tokens

__all__ = ["unfound", "wrong"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
_CLOSED = frozenset({"yes", "no"})


def wrong(answered: Bools, answerable: Bools, f1: Floats) -> Floats:
    """Judge by the gold answers.

    Args:
        answered: Whether an answer was given.
        answerable: Whether the documents hold one.
        f1: F1 of the answer; NaN where no gold answer is known.

    Returns:
        1, 0 or NaN per item, shape as given.
    """
    missed = np.where(answerable, np.where(np.isnan(f1), np.nan, (f1 == 0).astype(np.float64)), 1.0)
    return np.where(answered, missed, 0.0)


def unfound(
    answered: Bools, predictions: Sequence[str], shown: Sequence[Sequence[str]], texts: Mapping[str, str]
) -> Floats:
    """Judge by the passages shown.

    Args:
        answered: Whether an answer was given.
        predictions: The answers.
        shown: Ids of the passages shown with each question.
        texts: Passage id → title and text; every id in `shown` that counts must be there.

    Returns:
        1, 0 or NaN per item.
    """
    found = np.zeros(len(predictions))
    padded: dict[str, str] = {}
    for row in np.flatnonzero(answered).tolist():
        said = " ".join(tokens(strict(predictions[row])))
        if said in _CLOSED or not shown[row]:
            found[row] = np.nan
            continue
        for key in shown[row]:
            if key not in padded:
                padded[key] = f" {' '.join(tokens(strict(texts[key])))} "
        found[row] = not any(f" {said} " in padded[key] for key in shown[row])
    return found

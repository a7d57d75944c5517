"""Scores of one answer against its gold answers: EM, token F1, accuracy, token recall.

Each is the maximum over the gold answers, taken per score. EM compares normalised texts. F1 and recall compare bags of
tokens, with the rule of the HotpotQA script and FlashRAG that a yes, no or noanswer on one side only gives 0. Accuracy
asks whether a gold answer's tokens stand in the prediction in a row (FlashRAG and MMOA-RAG look for a substring, so
there "cat" is contained in "education"; here it is not). Under `strict`, EM is never above F1, recall or accuracy; the
official rules break that for answers that normalise to nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from faithline.metrics.normalise import Normalisation, normalise, tokens

__all__ = ["AnswerScores", "score", "score_many"]

_CLOSED = frozenset({"yes", "no", "noanswer"})


class AnswerScores(NamedTuple):
    """Scores of one answer, each in 0..1."""

    em: float
    f1: float
    accuracy: float
    recall: float


_NONE = AnswerScores(0.0, 0.0, 0.0, 0.0)
_ALL = AnswerScores(1.0, 1.0, 1.0, 1.0)


def score(prediction: str, answers: Sequence[str], normalisation: Normalisation) -> AnswerScores:
    """Score one prediction.

    Args:
        prediction: The answer given.
        answers: Gold answer and aliases, at least one.
        normalisation: Rule for texts, and for the F1 of empty ones: 0 under `official`, equality under `strict`.

    Raises:
        ValueError: If there is no gold answer.
    """
    if not answers:
        raise ValueError("no gold answers")
    said = normalise(prediction, normalisation)
    golds = [normalise(answer, normalisation) for answer in answers]
    if said and said in golds:
        return _ALL
    bag = Counter(tokens(said))
    found = [_against(said, bag, gold, normalisation) for gold in golds]
    return found[0] if len(found) == 1 else AnswerScores(*map(max, zip(*found, strict=True)))


def score_many(
    predictions: Sequence[str], answers: Sequence[Sequence[str]], normalisation: Normalisation
) -> npt.NDArray[np.float64]:
    """Score predictions against their gold answers.

    Returns:
        Shape (len(predictions), 4), columns as in `AnswerScores`; NaN where there are no gold answers.
    """
    scores = np.full((len(predictions), len(AnswerScores._fields)), np.nan)
    for row, (prediction, golds) in enumerate(zip(predictions, answers, strict=True)):
        if golds:
            scores[row] = score(prediction, golds, normalisation)
    return scores


def _against(said: str, bag: Counter[str], gold: str, normalisation: Normalisation) -> AnswerScores:
    """Compare normalised texts; `bag` counts the tokens of `said`."""
    gold_tokens = tokens(gold)
    if said == gold:
        full = 1.0 if gold_tokens or normalisation == "strict" else 0.0
        return AnswerScores(1.0, full, 1.0, full)
    if bag.keys().isdisjoint(gold_tokens):
        return _NONE
    accuracy = float(f" {' '.join(gold_tokens)} " in f" {said} ")
    if said in _CLOSED or gold in _CLOSED:
        return AnswerScores(0.0, 0.0, accuracy, 0.0)
    shared = sum(min(times, bag[token]) for token, times in Counter(gold_tokens).items())
    precision, recall = shared / bag.total(), shared / len(gold_tokens)
    return AnswerScores(0.0, 2 * precision * recall / (precision + recall), accuracy, recall)

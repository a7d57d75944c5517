"""Labels that items are sliced by, beyond those the sets bring along: the kind of answer, the noise in the context.

Answer type, from the canonical gold answer: `yesno`; `number` (holds a digit); `phrase` (up to five words); `text`;
"" = no gold answer. Noise level: the share of the passages shown that are no gold evidence, in four steps; "" where a
passage's part is unknown, or nothing was shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from faithline.metrics.passages import members

__all__ = ["NOISE_LEVELS", "answer_type", "noise_levels"]

_YESNO = frozenset({"yes", "no"})
_DIGIT = re.compile(r"\d")
_PHRASE_WORDS = 5
_STEPS = (0.0, 0.5, 0.8)
NOISE_LEVELS = ("0%", "1-50%", "51-80%", "81-100%")
"""Shares up to and including 0, 1/2, 4/5 and 1."""


def answer_type(answers: Sequence[str]) -> str:
    """Name the kind of a question's canonical answer, the first."""
    if not answers:
        return ""
    canonical = answers[0].strip().rstrip(".").casefold()
    if canonical in _YESNO:
        return "yesno"
    if _DIGIT.search(canonical):
        return "number"
    return "phrase" if len(canonical.split()) <= _PHRASE_WORDS else "text"


def noise_levels(shown: pa.Array, gold: pa.Array, known: pa.Array) -> list[str]:
    """Name the step that each question's share of irrelevant passages falls into.

    Args:
        shown: list<string>, document ids shown, one list per question.
        gold: list<string>, ids of the gold passages.
        known: bool, whether the part of every passage of the question is known.
    """
    irrelevant = ~members(shown, gold)
    rows = np.asarray(pc.list_parent_indices(shown), dtype=np.int64)
    total = np.bincount(rows, minlength=len(shown))
    share = np.bincount(rows, weights=irrelevant, minlength=len(shown)) / np.maximum(total, 1)
    step = np.searchsorted(_STEPS, share, side="left")
    told = np.asarray(known, dtype=np.bool_) & (total > 0)
    return [NOISE_LEVELS[number] if here else "" for number, here in zip(step.tolist(), told.tolist(), strict=True)]

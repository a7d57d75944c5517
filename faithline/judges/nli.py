"""The offline judge: an entailment model, asked about every sentence of a response against every one of its evidence.

A response is consistent when each of its sentences is entailed by some sentence of some document. It needs no language
model and no network; its verdicts are worth what the entailment model's accuracy on such pairs is, which must stand
beside them. The scorer is anything with the method below: premise = evidence, hypothesis = claim.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from faithline.metrics.grounding import Grounding, ground

__all__ = ["Answered", "EntailmentScorer", "judge_grounding", "sentences"]

_END = re.compile(r"(?<=[.!?])([\"'”’)\]]*)\s+(?=[\"'“‘(\[]?[A-Z0-9])|\n+")
_ABBREVIATION = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|No|Inc|Ltd|Co|e\.g|i\.e)|\b[A-Z])\.$")


class EntailmentScorer(Protocol):
    """An entailment model."""

    @property
    def identity(self) -> str:
        """All that decides its verdicts."""

    def probabilities(self, premises: Sequence[str], hypotheses: Sequence[str]) -> npt.NDArray[np.float64]:
        """Judge pairs: shape (pairs, 3), entailment, neutral, contradiction; rows sum to 1."""


@dataclass(frozen=True)
class Answered:
    """A response and what it may rest on."""

    response: str
    documents: Sequence[str]


def judge_grounding(scorer: EntailmentScorer, answered: Sequence[Answered]) -> Grounding:
    """Score responses by their sentences; equal pairs are judged once, all pairs in one call."""
    response: list[int] = []
    rows: list[tuple[int, int, str, str]] = []
    for number, one in enumerate(answered):
        evidence = [(place, text) for place, document in enumerate(one.documents) for text in sentences(document)]
        for claim in sentences(one.response):
            rows += [(len(response), place, premise, claim) for place, premise in evidence]
            response.append(number)
    unique = list(dict.fromkeys((premise, claim) for _, _, premise, claim in rows))
    place_of = {pair: place for place, pair in enumerate(unique)}
    judged = scorer.probabilities([premise for premise, _ in unique], [claim for _, claim in unique])
    order = np.array([place_of[premise, claim] for _, _, premise, claim in rows], dtype=np.int64)
    return ground(
        response=np.array(response, dtype=np.int64),
        claim=np.array([claim for claim, *_ in rows], dtype=np.int64),
        document=np.array([place for _, place, *_ in rows], dtype=np.int64),
        probabilities=np.asarray(judged, dtype=np.float64).reshape(-1, 3)[order],
        responses=len(answered),
    )


def sentences(text: str) -> list[str]:
    """Split a text into sentences; an initial or a common abbreviation ends none, a line break always does."""
    found: list[str] = []
    start = 0
    for match in [*_END.finditer(text), None]:
        if match and "\n" not in match[0] and _ABBREVIATION.search(text[start : match.start()]):
            continue
        end = len(text) if match is None else match.end(1) if match[1] is not None else match.start()
        if text[start:end].strip():
            found.append(" ".join(text[start:end].split()))
        start = match.end() if match else end
    return found

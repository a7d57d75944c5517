"""One question with its documents, as the supervised rows are made of it, and what a row is made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from components.compose_training.words import content_words
from faithline.agents.passage import Passage

__all__ = ["AskedPair", "Case", "SftRow"]


@dataclass(frozen=True)
class Case:
    """A question of data/prepared; documents without text and repeated ones left out."""

    question: str
    answers: tuple[str, ...]
    """Canonical one first."""
    answerable: bool
    plan: tuple[str, ...]
    passages: tuple[Passage, ...]
    flags: tuple[bool | None, ...]
    """Per passage: gold, distractor, unknown."""
    order: int
    """The question's hash, seed of everything that is drawn for it."""

    @property
    def answer(self) -> str:
        """The canonical answer; "" where there is none."""
        return self.answers[0].strip() if self.answers else ""

    def random(self) -> np.random.Generator:
        """A stream of its own, the same whatever other questions there are."""
        return np.random.default_rng(self.order)

    @cached_property
    def helpful(self) -> tuple[bool, ...] | None:
        """Per passage whether it helps to answer; None if that cannot be told.

        The gold flag where it is known. Else MMOA-RAG's weak label: the passage contains one of the content words of
        the canonical answer, or of the question where the answer is yes or no.
        """
        if None not in self.flags:
            return tuple(flag is True for flag in self.flags)
        verdict = self.answer.rstrip(".").casefold() in {"yes", "no"}
        words = content_words(self.question if verdict else self.answer)
        if not words:
            return None
        texts = [f"{passage.title} {passage.text}".casefold() for passage in self.passages]
        return tuple(
            any(word in text for word in words) if flag is None else flag
            for flag, text in zip(self.flags, texts, strict=True)
        )


@dataclass(frozen=True)
class AskedPair:
    """A question about a number."""

    question: str
    answer: str
    """The number; "" = cannot be answered."""
    evidence: str
    """A sentence of the documents, after its document's title unless that is in it; "" = none."""


@dataclass(frozen=True)
class SftRow:
    """What one role learns from one question; see `faithline.training_sets.schema.SFT`."""

    target: str
    question: str = ""
    documents: tuple[Passage, ...] = ()
    response: str = ""
    pairs: tuple[AskedPair, ...] = ()

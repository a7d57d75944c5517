"""Where an answer stands in its evidence: the gold answer's and the given answer's words, marked in a passage.

Whole words, whatever their case; where both stand, the gold answer's mark wins. "Yes", "no" and single letters are
left unmarked: they stand everywhere and show nothing.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Part", "highlight"]

_SAYS_NOTHING = {"yes", "no"}


@dataclass(frozen=True)
class Part:
    """A piece of a text."""

    text: str
    kind: Literal["", "gold", "claim"]
    """Whose words it is: the gold answer's, the given answer's, or neither's."""


def highlight(text: str, gold: Sequence[str], claim: str) -> list[Part]:
    """Cut a text into marked and unmarked parts; together they are the text.

    Args:
        text: A passage.
        gold: The gold answers.
        claim: The given answer.
    """
    kinds: list[Literal["", "gold", "claim"]] = [""] * len(text)
    for start, end in _places(text, [claim]):
        kinds[start:end] = ["claim"] * (end - start)
    for start, end in _places(text, gold):
        kinds[start:end] = ["gold"] * (end - start)
    cuts = [0, *(at for at in range(1, len(text)) if kinds[at] != kinds[at - 1]), len(text)]
    return [Part(text[start:end], kinds[start]) for start, end in itertools.pairwise(cuts) if end > start]


def _places(text: str, phrases: Iterable[str]) -> Iterable[tuple[int, int]]:
    for phrase in (phrase.strip() for phrase in phrases):
        if len(phrase) > 1 and phrase.casefold() not in _SAYS_NOTHING:
            pattern = rf"(?<!\w){re.escape(phrase)}(?!\w)"
            yield from (match.span() for match in re.finditer(pattern, text, re.IGNORECASE))

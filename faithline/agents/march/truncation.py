"""A prompt within a length limit: documents give way, nothing else does.

Whole documents are dropped from the end, for they come best first; the first one that no longer fits is shortened to
whole sentences, and a sole document to words. What the builder puts besides documents (query, questions, grammar) is
never cut: if that alone exceeds the limit the prompt is `TooLong`. The released code cuts the Checker's prompt on the
right, where the questions are.
"""

from __future__ import annotations

import bisect
import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from faithline.agents.passage import Passage

__all__ = ["Fit", "TooLong", "fit"]

Build = Callable[[Sequence[Passage]], Sequence[Mapping[str, str]]]
"""A role's messages from the documents to show; everything else is bound already."""

Count = Callable[[Sequence[Mapping[str, str]]], int]
"""Tokens of a prompt with these messages."""

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_WORD_END = re.compile(r"(?<=\S)\s+")


@dataclass(frozen=True)
class Fit:
    """The documents to show."""

    passages: tuple[Passage, ...]
    tokens: int
    """Of the whole prompt with them."""
    dropped: int
    """Documents left out whole."""
    shortened: bool
    """Whether the last document has lost its end."""


@dataclass(frozen=True)
class TooLong:
    """Even without any document the prompt exceeds the limit."""

    tokens: int
    limit: int


def fit(build: Build, passages: Sequence[Passage], count: Count, limit: int) -> Fit | TooLong:
    """Find how much of the documents a prompt can hold.

    Args:
        build: The role's prompt builder.
        passages: Documents, most important first.
        count: The token counter; it should not shrink as text grows; the result is within the limit anyway.
        limit: Tokens the prompt may have.
    """

    def tokens(shown: Sequence[Passage]) -> int:
        return count(build(shown))

    total = tokens(passages)
    if total <= limit:
        return Fit(tuple(passages), total, 0, shortened=False)
    bare = tokens(())
    if bare > limit:
        return TooLong(bare, limit)
    whole = _most(lambda number: tokens(passages[:number]), len(passages), limit)
    kept = tuple(passages[:whole])
    if whole < len(passages):
        kept += _head(passages[whole], lambda head: tokens((*kept, head)), limit, sole=whole == 0)
    return Fit(kept, tokens(kept), len(passages) - len(kept), shortened=len(kept) > whole)


def _head(passage: Passage, tokens: Callable[[Passage], int], limit: int, *, sole: bool) -> tuple[Passage, ...]:
    """The longest beginning of a document that fits, as a tuple of one or none."""
    for ends in (_SENTENCE_END, _WORD_END) if sole else (_SENTENCE_END,):
        head = _longest(passage, ends, tokens, limit)
        if head is not None:
            return (head,)
    return ()


def _longest(
    passage: Passage, ends: re.Pattern[str], tokens: Callable[[Passage], int], limit: int
) -> Passage | None:  # fmt: skip
    at = [match.start() for match in ends.finditer(passage.text)]

    def head(number: int) -> Passage:
        return dataclasses.replace(passage, text=passage.text[: at[number - 1]])

    number = _most(lambda number: tokens(head(number)), len(at), limit)
    return head(number) if number else None


def _most(tokens: Callable[[int], int], last: int, limit: int) -> int:
    """The largest number from 1 to `last` whose tokens are within the limit, or 0.

    What bisection returns it has tried, so the limit holds even for a counter that is not quite monotone.
    """
    return bisect.bisect_right(range(1, last + 1), limit, key=tokens)

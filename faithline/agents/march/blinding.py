"""The Checker's blindness, MARCH's central invariant: it must not see what it checks.

A `BlindQuestion` is made only here, from a Proposer's pairs, and is the only kind of question that the Checker's prompt
takes: response, query and proposed answers have no way into it. One gap is left, for the Proposer reads the response
and writes the questions: a question may state its own answer, or another question's. The rule: every number in a
question whose value, sign aside, is that of *any* proposed answer of the sample is replaced by a blank and counted.
Blanking rather than dropping the pair: a response must not lose its questions, for without questions it is not
checked. Answers that are no numbers (the release's parser keeps them) are blanked where they stand as words.
Not covered: a number spelt out (three), and digits inside a code (B12).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NewType

from faithline.agents.march.numbers import find_numbers, parse_number

__all__ = ["BLANK", "BlindQuestion", "Blinded", "Pair", "blind"]

BlindQuestion = NewType("BlindQuestion", str)
"""A question that states no proposed answer."""

BLANK = "____"
"""Stands where a question stated a proposed answer."""


@dataclass(frozen=True)
class Pair:
    """A question about a response, and the number that the response gives for it."""

    question: str
    """One line."""
    answer: str
    """As the Proposer wrote it, trimmed."""


@dataclass(frozen=True)
class Blinded:
    """The questions for the Checker."""

    questions: tuple[BlindQuestion, ...]
    """One per pair, in order."""
    leaks: int
    """Questions that stated a proposed answer."""


def blind(pairs: Sequence[Pair]) -> Blinded:
    """Take the answers away.

    Args:
        pairs: All pairs of one sample, for each question is kept free of every answer.
    """
    values: set[Decimal] = set()
    words: list[str] = []
    for pair in pairs:
        value = parse_number(pair.answer)
        if value is not None:
            values.add(abs(value))
        elif any(char.isalnum() for char in pair.answer):
            words.append(re.escape(pair.answer))
    literal = re.compile(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)", re.IGNORECASE) if words else None
    questions = [_blanked(pair.question, values, literal) for pair in pairs]
    leaks = sum(question != pair.question for question, pair in zip(questions, pairs, strict=True))
    return Blinded(tuple(map(BlindQuestion, questions)), leaks)


def _blanked(question: str, values: set[Decimal], literal: re.Pattern[str] | None) -> str:
    if literal is not None:
        question = literal.sub(BLANK, question)
    # What is left of a list of numbers may read otherwise than before (5,1,234 without the 5): until nothing changes.
    before = ""
    while question != before and any(char in "0123456789" for char in question):
        before, question = question, _without(question, values)
    return question


def _without(question: str, values: set[Decimal]) -> str:
    parts, done = [], 0
    for number in find_numbers(question):
        if abs(number.value) in values:
            parts += [question[done : number.start], BLANK]
            done = number.end
    return "".join([*parts, question[done:]])

"""The Proposer: a response to questions, each with the number that the response gives as its answer.

Grammar, one pair a line, case-sensitive: `- Question: … [Answer: n]`; or the words `No numbers.` alone. Text around
pairs is tolerated and what is not usable is counted. Two parsers: `strict` keeps a pair only if it asks something
and its answer is a number, and the first `max_pairs` of them; `release` keeps what the released code keeps, whatever
the answer is and however many there are. Prompt structure after the paper's A.2. It never sees the documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from faithline.agents.march.blinding import Pair
from faithline.agents.march.numbers import parse_number
from faithline.agents.march.outcome import Outcome, has_text, strip_reasoning
from faithline.agents.passage import one_line

__all__ = ["NO_NUMBERS", "Parser", "Proposal", "messages", "parse", "render"]

Parser = Literal["strict", "release"]

NO_NUMBERS = "No numbers."
"""What the role writes when the response states no number."""

_ASK, _ANSWER = "- Question:", "[Answer:"
_ASKED = re.compile(r"-[ \t]{0,8}Question:")

_INSTRUCTION = (
    "You annotate data. For every number that matters in the response write one question whose only right answer is "
    "that number.\n"
    "1. A question names who, what, where and when, and states no answer: 'How many trips did the Lund ferry make in "
    "2019?', not 'How many trips did it make?'.\n"
    "2. An answer is a bare number: no unit, %, k, range or words.\n"
    "Write {few} to {many} lines, as many as the response has numbers for, in exactly this form and nothing else:\n"
    f"{_ASK} ... {_ANSWER} n]\n"
    f"If the response states no number, write only: {NO_NUMBERS}"
)


@dataclass(frozen=True)
class Proposal:
    """A Proposer's text after parsing."""

    outcome: Outcome
    """`ok` exactly when there are pairs."""
    pairs: tuple[Pair, ...]
    """Usable pairs in the order of the text."""
    malformed: int
    """Questions without an answer on their line."""
    unusable: int
    """Pairs left out because they ask nothing or their answer is no number."""
    excess: int
    """Usable pairs beyond the maximum, left out."""


def messages(response: str, query: str | None, *, min_pairs: int, max_pairs: int) -> list[dict[str, str]]:
    """Build the Proposer's chat.

    Args:
        response: The Solver's response without its reasoning; put on one line, so that it cannot imitate the grammar.
        query: What was asked, or None to show the response alone.
        min_pairs: Questions to ask for at least.
        max_pairs: Questions to ask for at most.
    """
    asked = "" if query is None else f"Query: {one_line(query)}\n"
    return [
        {"role": "system", "content": _INSTRUCTION.replace("{few}", str(min_pairs)).replace("{many}", str(max_pairs))},
        {"role": "user", "content": f"{asked}Response: {one_line(response)}"},
    ]


def render(pairs: Sequence[Pair]) -> str:
    """Write the completion that asks these pairs, as supervised training teaches it.

    Returns:
        A text that `parse` reads back; the words for "no number" if there are no pairs.

    Raises:
        ValueError: If a pair cannot be written in the grammar.
    """
    text = "\n".join(f"{_ASK} {pair.question} {_ANSWER} {pair.answer}]" for pair in pairs)
    if list(_pairs(text)) != list(pairs):
        raise ValueError(f"not expressible as lines of question and answer: {pairs}")
    return text or NO_NUMBERS


def parse(text: str, parser: Parser, max_pairs: int) -> Proposal:
    """Read one completion.

    Args:
        text: What the model wrote, without control tokens; a reasoning block is left out.
        parser: Which pairs to keep.
        max_pairs: Pairs to keep at most; the release's parser has no such limit.
    """
    text = strip_reasoning(text)
    pairs: list[Pair] = []
    malformed = unusable = excess = 0
    for pair in _pairs(text):
        if pair is None:
            malformed += 1
        elif parser == "release":
            pairs.append(pair)
        elif not has_text(pair.question) or parse_number(pair.answer) is None:
            unusable += 1
        elif len(pairs) < max_pairs:
            pairs.append(pair)
        else:
            excess += 1
    if pairs:
        outcome = Outcome.OK
    else:
        silent = not has_text(text) or one_line(text).rstrip(".").casefold() == NO_NUMBERS.rstrip(".").casefold()
        outcome = Outcome.EMPTY if silent else Outcome.MALFORMED
    return Proposal(outcome, tuple(pairs), malformed, unusable, excess)


def _pairs(text: str) -> Iterator[Pair | None]:
    """Pairs in order, None for a question whose line has no answer. Reads each character a bounded number of times."""
    for piece in _ASKED.split(text)[1:]:
        question, mark, rest = piece.partition("\n")[0].partition(_ANSWER)
        answer, closed, _ = rest.partition("]")
        yield Pair(one_line(question), one_line(answer)) if mark and closed else None

"""The grounded-answer role: a question and passages to a prompt, a completion to an answer or a named failure.

Output grammar (MMOA-RAG's generator): the answer stands once between double asterisks, `**Paris**`; text around the
pair is tolerated. When the documents do not hold the answer the role says so in the same form, `**not in the
documents**`, so declining is an act of its own and never an unparsable text. Every completion maps to exactly one
outcome, and only `ok` carries an answer: no pair, an unclosed pair or several pairs are `malformed`, nothing inside is
`empty`. Pure functions; the parser sees the completion only, never the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from faithline.agents.passage import Passage, block, one_line

__all__ = ["ABSTENTION", "Outcome", "Parsed", "Passage", "messages", "parse", "target"]

ABSTENTION = "not in the documents"
"""What the role writes between the asterisks when the documents do not answer the question."""

_INSTRUCTION = (
    "Answer the question using only the documents. "
    "Write the answer as briefly as possible between double asterisks: **answer**. "
    f"If the documents do not contain the answer, write **{ABSTENTION}**."
)

# The closing pair is the last two asterisks of a run, so that an answer may end in one ("Sagittarius A*").
_ANSWER = re.compile(r"\*\*(.*?)\*\*(?!\*)", re.DOTALL)


class Outcome(StrEnum):
    """What became of one completion."""

    OK = "ok"
    """Exactly one answer."""
    ABSTAINED = "abstained"
    """The role declined in the agreed form."""
    MALFORMED = "malformed"
    """Text without exactly one closed answer."""
    EMPTY = "empty"
    """No text, or an answer with no letter, digit or other visible sign."""


@dataclass(frozen=True)
class Parsed:
    """A completion after parsing."""

    outcome: Outcome
    answer: str
    """Empty unless the outcome is `ok`; one line, never blank when it is."""


def messages(question: str, passages: Sequence[Passage]) -> list[dict[str, str]]:
    """Build the chat of one question: the instruction, the documents, the question last.

    Args:
        question: The query; put on one line.
        passages: Evidence in the order to show.

    Returns:
        A system and a user message. The only line that starts with `Question:` is the last one.
    """
    return [
        {"role": "system", "content": _INSTRUCTION},
        {"role": "user", "content": f"{block(passages)}\n\nQuestion: {one_line(question)}"},
    ]


def target(answer: str | None) -> str:
    """Write the completion that supervised training teaches.

    Args:
        answer: Gold answer; None for a question that the documents do not answer.

    Returns:
        A text for which `parse` gives back the answer (runs of asterisks shortened to one), or the abstention.

    Raises:
        ValueError: The answer holds nothing visible besides asterisks.
    """
    if answer is None:
        return f"**{ABSTENTION}**"
    shown = re.sub(r"\*{2,}", "*", one_line(answer))
    if not _visible(shown):
        raise ValueError(f"gold answer is blank: {answer!r}")
    return f"**{shown}**"


def parse(text: str) -> Parsed:
    """Read one completion.

    Args:
        text: What the model wrote, without control tokens.

    Returns:
        The outcome, with the answer when it is `ok`.
    """
    if not _visible(text):
        return Parsed(Outcome.EMPTY, "")
    spans = _ANSWER.findall(text)
    if len(spans) != 1 or "**" in spans[0] or "**" in _ANSWER.sub(" ", text):
        return Parsed(Outcome.MALFORMED, "")
    answer = one_line(spans[0])
    if not _visible(answer):
        return Parsed(Outcome.EMPTY, "")
    if answer.rstrip(".").casefold() == ABSTENTION:
        return Parsed(Outcome.ABSTAINED, "")
    return Parsed(Outcome.OK, answer)


def _visible(text: str) -> bool:
    """Whether a text shows anything besides asterisks: white space, control and zero-width characters do not count."""
    return any(char.isprintable() and char not in "* " for char in text)

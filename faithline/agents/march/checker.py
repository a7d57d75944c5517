"""The Checker: documents and questions to answers with evidence. It is blind to the response.

Grammar, one item per question: `i. Evidence: …` (over any number of lines) and `[Answer: n]` before the next item;
`Cannot answer` where the documents do not say. Items are keyed by their number; of two with one number the first wins
(`strict`) or the last (`release`, as in the released code). An item without an answer gives none: the release's pattern
would take the next item's, which is no divergence worth keeping. Prompt structure after the paper's A.3.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from faithline.agents.march.blinding import BlindQuestion
from faithline.agents.march.outcome import Outcome, has_text, strip_reasoning
from faithline.agents.march.proposer import Parser
from faithline.agents.passage import Passage, block, one_line

__all__ = ["CANNOT_ANSWER", "Check", "Finding", "messages", "parse", "render"]

CANNOT_ANSWER = "Cannot answer"
"""What the role writes as the answer when the documents do not say; never equal to any number."""

_ANSWER = "[Answer:"
# Bounded repetitions keep the search linear on a text of digits only; a look-behind would double its time.
_ITEM = re.compile(r"([0-9]{1,18})\.[ \t]{0,8}Evidence:")

_INSTRUCTION = (
    "You verify data. Answer each question from the documents alone, one line per question: its number, the evidence, "
    f"the answer. An answer is a bare number (no unit, %, k, range or words), or {CANNOT_ANSWER} where the documents "
    "do not say.\n"
    "Example. Document-1: The Lund ferry made 840 trips in 2019.\n"
    "- Question 1: How many trips did the Lund ferry make in 2019?\n"
    f"1. Evidence: Document-1 states that it made 840 trips in 2019. {_ANSWER} 840]"
)


@dataclass(frozen=True)
class Finding:
    """One item: what the documents say about one question."""

    evidence: str
    answer: str


@dataclass(frozen=True)
class Check:
    """A Checker's text after parsing."""

    outcome: Outcome
    """`count_mismatch`: items are missing or there are more than questions; `malformed`: no usable item."""
    answers: tuple[str | None, ...]
    """Per question the answer as written, None where there is none."""
    repeated: int
    """Items whose number had come before."""
    extra: int
    """Items with the number of no question; ignored otherwise."""


def messages(questions: Sequence[BlindQuestion], passages: Sequence[Passage]) -> list[dict[str, str]]:
    """Build the Checker's chat: documents, then the questions, renumbered from 1.

    Args:
        questions: From `blinding.blind`; nothing else of the sample has a way into this prompt.
        passages: The documents that the Solver was given.
    """
    asked = "\n".join(f"- Question {number}: {one_line(text)}" for number, text in enumerate(questions, start=1))
    return [
        {"role": "system", "content": _INSTRUCTION},
        {"role": "user", "content": f"Documents:\n{block(passages)}\n\nQuestions:\n{asked}"},
    ]


def render(findings: Sequence[Finding]) -> str:
    """Write the completion with these findings, as supervised training teaches it.

    Raises:
        ValueError: If an evidence or answer would be read differently.
    """
    lines = []
    for number, finding in enumerate(findings, start=1):
        evidence, answer = one_line(finding.evidence), finding.answer
        if answer != one_line(answer) or "]" in answer or _ANSWER in evidence or _ITEM.search(f"{evidence}\n{answer}"):
            raise ValueError(f"not expressible as one item: {finding}")
        lines.append(f"{number}. Evidence: {evidence} {_ANSWER} {answer}]")
    return "\n".join(lines)


def parse(text: str, questions: int, parser: Parser) -> Check:
    """Read one completion.

    Args:
        text: What the model wrote, without control tokens; a reasoning block is left out.
        questions: How many were asked.
        parser: Which of two items with one number counts.
    """
    text = strip_reasoning(text)
    answers: list[str | None] = [None] * questions
    repeated = extra = 0
    seen: set[int] = set()
    pieces = _ITEM.split(text)
    for head, body in zip(pieces[1::2], pieces[2::2], strict=True):
        _, mark, rest = body.partition(_ANSWER)
        answer, closed, _ = rest.partition("]")
        number = int(head)
        if not mark or not closed:
            continue
        repeated += number in seen
        if not 1 <= number <= questions:
            extra += 1
        elif number not in seen or parser == "release":
            answers[number - 1] = one_line(answer)
        seen.add(number)
    return Check(_outcome(text, answers, seen, extra), tuple(answers), repeated, extra)


def _outcome(text: str, answers: Sequence[str | None], seen: set[int], extra: int) -> Outcome:
    if not has_text(text):
        return Outcome.EMPTY
    if not seen:
        return Outcome.MALFORMED
    return Outcome.COUNT_MISMATCH if extra or None in answers else Outcome.OK

"""The processed form of multi-hop sets common in research repositories (IRCoT, Collab-RAG), one JSON object a line.

The same keys serve HotpotQA, 2WikiMultiHopQA and MuSiQue: answers in DROP's shape, paragraphs with a gold flag each,
and for the latter two the annotated reasoning steps as text.
"""

from __future__ import annotations

import msgspec

from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.records import Question
from faithline.data.readers.variants import gold_answers, steps

__all__ = ["Processed", "normalise_processed"]


class _Answers(msgspec.Struct, gc=False):
    """An answer object of DROP; these sets fill only the spans."""

    spans: list[str]
    """Canonical answer, then aliases."""


class _Paragraph(msgspec.Struct, gc=False):
    title: str
    paragraph_text: str
    is_supporting: bool | None = None


class Processed(msgspec.Struct, gc=False):
    """One row."""

    question_id: str
    question_text: str
    contexts: list[_Paragraph]
    answers_objects: list[_Answers] | None = None
    reasoning_steps: list[str] | None = None
    type: str = ""
    answerable: bool = True


def normalise_processed(row: Processed, where: str, _ledger: RowLedger) -> Question:
    """Map a processed row; the number of reasoning steps is the number of hops."""
    objects = row.answers_objects
    plan = steps(row.reasoning_steps or [])
    answers = None if objects is None else [span for entry in objects for span in entry.spans]
    return Question(
        where=where,
        source_id=row.question_id,
        group_id=row.question_id,
        question=row.question_text,
        answers=gold_answers(answers) if row.answerable else [],
        answerable=row.answerable,
        question_type=row.type,
        hops=len(plan) or None,
        titles=[paragraph.title for paragraph in row.contexts],
        texts=[paragraph.paragraph_text for paragraph in row.contexts],
        supporting=[paragraph.is_supporting for paragraph in row.contexts],
        plan=plan,
    )

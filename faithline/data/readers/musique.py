"""MuSiQue (Answerable and Full): gold flags per paragraph, decomposition steps with answers, unanswerable twins.

MuSiQue-Full holds most questions twice under one id: once answerable, once with a gold paragraph taken away. The twin
gets the id suffix "#unanswerable" and stays in its question's split; its `answer` field is the other twin's and is
not read, for here abstaining is right.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.processed import Processed, normalise_processed
from faithline.data.readers.records import Question
from faithline.data.readers.variants import QuestionFormat, Variant, gold_answers, steps

__all__ = ["MUSIQUE"]

_REFERENCE = re.compile(r"#(\d+)")
_KIND = re.compile(r"(\dhop\d?)__")


class _Paragraph(msgspec.Struct, gc=False):
    title: str
    paragraph_text: str
    is_supporting: bool | None = None
    """Absent in the test file."""


class _Step(msgspec.Struct, gc=False):
    question: str
    """May refer to the answer of step k as "#k", or be a relation as "subject >> relation"."""
    answer: str


class _Official(msgspec.Struct, gc=False):
    """One line of musique_{ans,full}_v1.0_*.jsonl."""

    id: str
    question: str
    paragraphs: list[_Paragraph]
    answer: str | None = None
    answer_aliases: list[str] = []
    question_decomposition: list[_Step] = []
    answerable: bool = True


def _normalise_official(row: _Official, where: str, _ledger: RowLedger) -> Question:
    plan = steps(_plan(row.question_decomposition))
    answers = None if row.answer is None else [row.answer, *row.answer_aliases]
    return Question(
        where=where,
        source_id=row.id if row.answerable else f"{row.id}#unanswerable",
        group_id=row.id,
        question=row.question,
        answers=gold_answers(answers) if row.answerable else [],
        answerable=row.answerable,
        question_type=_kind(row.id),
        hops=len(plan) or None,
        titles=[paragraph.title for paragraph in row.paragraphs],
        texts=[paragraph.paragraph_text for paragraph in row.paragraphs],
        supporting=[paragraph.is_supporting for paragraph in row.paragraphs],
        plan=plan,
    )


def _plan(decomposition: Sequence[_Step]) -> list[str]:
    """Render steps as the processed form does: references filled in, then ">>>>" and the step's answer."""
    answers = [step.answer for step in decomposition]

    def fill(reference: re.Match[str]) -> str:
        number = int(reference[1])
        return answers[number - 1] if 1 <= number <= len(answers) else reference[0]

    return [f"{_REFERENCE.sub(fill, step.question)} >>>> {step.answer}" for step in decomposition]


def _kind(source_id: str) -> str:
    """Shape of the reasoning graph, e.g. 2hop or 3hop1, which is the first part of every MuSiQue id."""
    found = _KIND.match(source_id)
    return found[1] if found else ""


def _normalise_processed(row: Processed, where: str, ledger: RowLedger) -> Question:
    question = normalise_processed(row, where, ledger)
    question.question_type = question.question_type or _kind(row.question_id)
    if not row.answerable:
        question.source_id = f"{row.question_id}#unanswerable"
    return question


MUSIQUE = QuestionFormat(
    variants=(
        Variant("official", _Official, _normalise_official),
        Variant("processed", Processed, _normalise_processed),
    )
)

"""PopQA: the official table (TSV, hub Parquet) of questions alone, and HippoRAG's form with paragraphs.

Questions of the table come without documents; a corpus can be given beside them.
`possible_answers` is a JSON list inside a string, which two published loaders never parse, so that the whole list
becomes one answer that nothing matches.
"""

from __future__ import annotations

import msgspec

from faithline.data.readers.ledger import RowError, RowLedger
from faithline.data.readers.records import Question
from faithline.data.readers.variants import QuestionFormat, Variant, gold_answers

__all__ = ["POPQA"]


class _Paragraph(msgspec.Struct, gc=False):
    title: str
    text: str
    is_supporting: bool | None = None


class _Packed(msgspec.Struct, gc=False):
    """One element of popqa.json."""

    id: int | str
    question: str
    possible_answers: str | list[str]
    """A JSON list of strings, usually inside a string."""
    paragraphs: list[_Paragraph]
    prop: str = ""
    """The Wikidata relation asked for, e.g. occupation."""


class _Table(msgspec.Struct, gc=False):
    """One row of popQA.tsv."""

    id: int | str
    question: str
    possible_answers: str | list[str]
    subj: str
    """The entity asked about."""
    prop: str = ""


def _normalise_table(row: _Table, where: str, ledger: RowLedger) -> Question:
    packed = _Packed(
        id=row.id, question=row.question, possible_answers=row.possible_answers, paragraphs=[], prop=row.prop
    )
    return _normalise(packed, where, ledger)


def _normalise(row: _Packed, where: str, _ledger: RowLedger) -> Question:
    return Question(
        where=where,
        source_id=str(row.id),
        group_id=str(row.id),
        question=row.question,
        answers=gold_answers(_answers(row.possible_answers)),
        answerable=True,
        question_type=row.prop,
        hops=None,
        titles=[paragraph.title for paragraph in row.paragraphs],
        texts=[paragraph.text for paragraph in row.paragraphs],
        supporting=[paragraph.is_supporting for paragraph in row.paragraphs],
        plan=[],
    )


def _answers(value: str | list[str]) -> list[str]:
    if isinstance(value, list):
        return value
    try:
        return msgspec.json.decode(value, type=list[str])
    except msgspec.DecodeError as error:
        raise RowError("wrong_schema", f"possible_answers is not a JSON list of strings: {error}") from error


POPQA = QuestionFormat(
    variants=(Variant("packed", _Packed, _normalise), Variant("table", _Table, _normalise_table)),
    tabular=True,
    open_domain=True,
)

"""Natural Questions: NQ-open (questions and answers alone), HippoRAG's form with passages, and the simplified release.

The simplified release is one Wikipedia page per question, as tokens, with candidate spans: its top-level candidates
become the documents, the annotated long answer the evidence. A question whose annotators found no long answer on the
page is unanswerable from it. Only the other forms come without ids; theirs is a hash of the question.
"""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from faithline.data.readers.ledger import RowError, RowLedger
from faithline.data.readers.records import Question
from faithline.data.readers.variants import QuestionFormat, Variant, content_id, distinct, gold_answers

__all__ = ["NQ"]

_TAG = re.compile(r"</?[A-Z][A-Za-z0-9_]*>")


class _Passage(msgspec.Struct, gc=False):
    title: str
    text: str
    is_supporting: bool | None = None


class _Contexts(msgspec.Struct, gc=False):
    """HippoRAG: passages under `contexts`."""

    question: str
    contexts: list[_Passage]
    id: int | str = ""
    answer: str | list[str] | None = None
    reference: str | list[str] | None = None


class _Paragraphs(msgspec.Struct, gc=False):
    """HippoRAG: passages under `paragraphs`."""

    question: str
    paragraphs: list[_Passage]
    id: int | str = ""
    answer: str | list[str] | None = None
    reference: str | list[str] | None = None


class _Open(msgspec.Struct, gc=False):
    """One line of NQ-open.*.jsonl."""

    question: str
    answer: list[str]


class _Span(msgspec.Struct, gc=False):
    start_token: int
    end_token: int


class _Candidate(msgspec.Struct, gc=False):
    start_token: int
    end_token: int
    top_level: bool


class _LongAnswer(msgspec.Struct, gc=False):
    candidate_index: int
    """-1: the page does not hold the answer."""


class _Annotation(msgspec.Struct, gc=False):
    long_answer: _LongAnswer
    short_answers: list[_Span] = []
    yes_no_answer: str = "NONE"


class _Simplified(msgspec.Struct, gc=False):
    """One line of v1.0-simplified_simplified-nq-train.jsonl."""

    example_id: int | str
    question_text: str
    document_text: str
    long_answer_candidates: list[_Candidate]
    annotations: list[_Annotation]
    document_title: str = ""


def _normalise_packed(row: _Contexts | _Paragraphs, where: str, _ledger: RowLedger) -> Question:
    answers = row.answer if row.answer is not None else row.reference
    return _question(
        where,
        str(row.id) or content_id(row.question),
        row.question,
        [answers] if isinstance(answers, str) else answers,
        row.contexts if isinstance(row, _Contexts) else row.paragraphs,
    )


def _normalise_open(row: _Open, where: str, _ledger: RowLedger) -> Question:
    return _question(where, content_id(row.question), row.question, row.answer, [])


def _normalise_simplified(row: _Simplified, where: str, _ledger: RowLedger) -> Question:
    tokens = row.document_text.split(" ")
    kept = [index for index, candidate in enumerate(row.long_answer_candidates) if candidate.top_level]
    gold = {note.long_answer.candidate_index for note in row.annotations} - {-1}
    for candidate in gold:
        if not 0 <= candidate < len(row.long_answer_candidates):
            raise RowError("wrong_schema", f"long answer {candidate} of {len(row.long_answer_candidates)} candidates")
    spans = [(c.start_token, c.end_token) for c in row.long_answer_candidates]
    passages = [
        _Passage(
            row.document_title,
            _text(tokens, *spans[index]),
            any(spans[index][0] <= spans[g][0] and spans[g][1] <= spans[index][1] for g in gold),
        )
        for index in kept
    ]
    question = _question(where, str(row.example_id), row.question_text, None, passages)
    question.answerable = bool(gold) or not row.annotations
    question.answers = distinct(_short_answers(row, tokens)) if question.answerable else []
    return question


def _short_answers(row: _Simplified, tokens: list[str]) -> list[str]:
    """Answers of all annotators, the commonest first."""
    texts = [
        _text(tokens, span.start_token, span.end_token)
        for annotation in row.annotations
        for span in annotation.short_answers
    ]
    verdicts = [a.yes_no_answer.lower() for a in row.annotations if a.yes_no_answer.upper() in {"YES", "NO"}]
    return [answer for answer, _ in Counter(verdicts + texts).most_common()]


def _text(tokens: list[str], start: int, end: int) -> str:
    return " ".join(token for token in tokens[max(start, 0) : end] if not _TAG.fullmatch(token))


def _question(
    where: str, source_id: str, question: str, answers: list[str] | None, passages: list[_Passage]
) -> Question:
    return Question(
        where=where,
        source_id=source_id,
        group_id=source_id,
        question=question,
        answers=gold_answers(answers),
        answerable=True,
        question_type="",
        hops=None,
        titles=[passage.title for passage in passages],
        texts=[passage.text for passage in passages],
        supporting=[passage.is_supporting for passage in passages],
        plan=[],
    )


NQ = QuestionFormat(
    variants=(
        Variant("contexts", _Contexts, _normalise_packed),
        Variant("paragraphs", _Paragraphs, _normalise_packed),
        Variant("simplified", _Simplified, _normalise_simplified),
        Variant("open", _Open, _normalise_open),
    ),
    open_domain=True,
)

"""What readers hand on: one typed record per row, the same for every source format.

Records hold plain lists, so that a batch of them flattens into Arrow columns without a Python object per document.
"""

from __future__ import annotations

import msgspec

__all__ = ["AnnotatedRow", "Claim", "Document", "Judgement", "Label", "Question", "Response", "Source"]


class Question(msgspec.Struct, kw_only=True, gc=False):
    """A question with its documents."""

    where: str
    """Place in the file, for messages."""
    source_id: str
    """Id in the source, unique in its set."""
    group_id: str
    """What the split is dealt by: equals `source_id`, but for rows that are variants of one question."""
    question: str
    answers: list[str]
    """Canonical answer first; empty = unknown."""
    answerable: bool
    question_type: str
    hops: int | None
    titles: list[str]
    texts: list[str]
    supporting: list[bool | None]
    """One per document; None = unknown."""
    plan: list[str]


class Claim(msgspec.Struct, kw_only=True, gc=False):
    """One true or false reference answer."""

    where: str
    source_id: str
    category: str
    question: str
    answer: str
    position: int
    """Place among the true, or among the false, answers of its question."""
    truthful: bool
    best: bool


class Source(msgspec.Struct, kw_only=True, gc=False):
    """What several models were asked, with the documents they saw."""

    where: str
    source_id: str
    task: str
    query: str
    titles: list[str]
    texts: list[str]


class Label(msgspec.Struct, kw_only=True, gc=False):
    """A hallucinated span of a response."""

    start: int
    end: int
    text: str
    type: str
    implicit_true: bool
    due_to_null: bool


class Response(msgspec.Struct, kw_only=True, gc=False):
    """One model's answer to a source."""

    where: str
    response_id: str
    source_id: str
    response: str
    model: str
    quality: str
    labels: list[Label]


class AnnotatedRow(msgspec.Struct, kw_only=True, gc=False):
    """One row that holds a source together with annotated responses to it."""

    where: str
    row_id: str
    """Unique in its set."""
    source: Source
    """May come again in other rows; then it must be the same."""
    responses: list[Response]


class Judgement(msgspec.Struct, kw_only=True, gc=False):
    """Two responses to one source, of which people prefer the first by a named criterion."""

    where: str
    judgement_id: str
    source_id: str
    origin: str
    """The publisher's own id of the problem."""
    task: str
    criterion: str
    query: str
    titles: list[str]
    texts: list[str]
    preferred: str
    rejected: str


class Document(msgspec.Struct, kw_only=True, gc=False):
    """One passage of a corpus."""

    where: str
    key: str
    """What questions cite it by (PubMed id, address); "" = nothing."""
    title: str
    text: str

"""The schema of the prepared tables, field by field.

`prepare_data` writes five Parquet tables into one folder, always all five, some possibly without rows. Questions,
responses and judgements point at documents by id; nothing is nested deeper than a list of structs. Each field's
meaning is stored in the Parquet file itself (field metadata `meaning`), so a table explains itself to whoever opens it.

Invariants: ids are unique per table; every document id in the other tables exists in `documents`; `supporting` is as
long as `documents`; a split belongs to a question or source, never to a pair; no field and no list item is null, but
`hops` and the items of `supporting`.
"""

from __future__ import annotations

from typing import Literal

import pyarrow as pa

__all__ = ["CLAIMS", "DOCUMENTS", "JUDGEMENTS", "QUESTIONS", "RESPONSES", "SPLITS", "TABLES", "Split", "file_name"]

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")


def _field(name: str, kind: pa.DataType, meaning: str, *, nullable: bool = False) -> pa.Field:
    return pa.field(name, kind, nullable=nullable, metadata={"meaning": meaning})


def _item(name: str, kind: pa.DataType, meaning: str) -> pa.Field:
    # Nullability inside a column is part of its type: kept open, so that tables built with plain types fit as well.
    return _field(name, kind, meaning, nullable=True)


_SET = _field("set", pa.string(), "name of the set in params.yaml: the first part of every id")
_SPLIT = _field("split", pa.string(), "train, validation or test, by hash of the question's or source's id")

QUESTIONS = pa.schema(
    [
        _field("question_id", pa.string(), "<set>/<id in the source>; unique"),
        _SET,
        _SPLIT,
        _field("question", pa.string(), "the question as asked, never blank"),
        _field(
            "answers", pa.list_(pa.string()), "gold answers, the canonical one first, then aliases; empty = unknown"
        ),
        _field("answerable", pa.bool_(), "false: the documents do not hold the answer, and abstaining is right"),
        _field("question_type", pa.string(), 'the source\'s own type, e.g. bridge, comparison, yesno; "" = unknown'),
        _field("hops", pa.int8(), "number of annotated reasoning steps; null = unknown", nullable=True),
        _field("documents", pa.list_(pa.string()), "document ids in the given order; a repeated document is repeated"),
        _field(
            "supporting",
            pa.list_(pa.bool_()),
            "per document: true = gold evidence, false = distractor, null = unknown",
        ),
        _field(
            "plan",
            pa.list_(pa.string()),
            "annotated reasoning steps in order; may be empty. MuSiQue: 'sub-question >>>> its answer'; 2Wiki: the "
            "evidence triple as 'subject relation object'",
        ),
    ]
)

DOCUMENTS = pa.schema(
    [
        _field(
            "document_id",
            pa.string(),
            "<set>/<first 16 hex digits of SHA-256 of title NUL text>: equal documents share a row, no others do",
        ),
        _SET,
        _field("title", pa.string(), 'title; may be ""'),
        _field(
            "text", pa.string(), 'body in the source\'s own form; "" where the source names a document without text'
        ),
    ]
)

CLAIMS = pa.schema(
    [
        _field("claim_id", pa.string(), "<question_id>/<true|false>-<position in the source's list>; unique"),
        _field(
            "question_id", pa.string(), "<set>/<16 hex digits of SHA-256 of the question>, for TruthfulQA has no ids"
        ),
        _SET,
        _SPLIT,
        _field("category", pa.string(), "the source's topic"),
        _field("question", pa.string(), "the question"),
        _field("answer", pa.string(), "one reference answer"),
        _field("truthful", pa.bool_(), "true: listed as correct; false: listed as incorrect"),
        _field("best", pa.bool_(), "the answer named best of its kind (best correct, best incorrect)"),
    ]
)

_LABEL = pa.struct(
    [
        _item("start", pa.int32(), "first character of the span in the response, in code points from 0"),
        _item("end", pa.int32(), "one past the last character"),
        _item("text", pa.string(), "the span as annotated; may differ from the slice (counted in sources.json)"),
        _item(
            "type",
            pa.string(),
            "e.g. Evident Conflict, Subtle Baseless Info, Unwanted.Intrinsic",
        ),
        _item("implicit_true", pa.bool_(), "true in the world, though not in the source"),
        _item("due_to_null", pa.bool_(), "the fault comes from a null value in the source's data"),
    ]
)

RESPONSES = pa.schema(
    [
        _field("response_id", pa.string(), "<set>/<id in the source>; unique"),
        _field("source_id", pa.string(), "<set>/<source id>; responses to one source share it, and its split"),
        _SET,
        _SPLIT,
        _field("task", pa.string(), "qa, summary or data2txt"),
        _field("query", pa.string(), "the question or instruction"),
        _field("documents", pa.list_(pa.string()), "document ids of the source, in order"),
        _field("response", pa.string(), "the model's text; label offsets count its code points"),
        _field("model", pa.string(), "the model that wrote it"),
        _field(
            "quality",
            pa.string(),
            "the source's remark; RAGTruth: good, truncated, incorrect_refusal; FaithJudge's FaithBench part: the "
            'majority verdict of the annotators; "" = none',
        ),
        _field("labels", pa.list_(_LABEL), "hallucinated spans sorted by start and end; empty = none"),
    ]
)

JUDGEMENTS = pa.schema(
    [
        _field("judgement_id", pa.string(), "<set>/<16 hex digits of SHA-256 of all that is judged>; unique"),
        _field(
            "source_id",
            pa.string(),
            "<set>/<16 hex digits of SHA-256 of question and context>; pairs about one source share it, and its split",
        ),
        _SET,
        _SPLIT,
        _field("origin", pa.string(), 'the publisher\'s own id of the problem, not unique; "" = none'),
        _field("task", pa.string(), "qa or summary"),
        _field(
            "criterion",
            pa.string(),
            "what decides: completeness, conciseness, faithfulness, refusal_answerable (a refusal is worse) or "
            "refusal_unanswerable (a refusal is better)",
        ),
        _field("query", pa.string(), 'the question or instruction; "" for some summaries'),
        _field("documents", pa.list_(pa.string()), "document ids of the context, in order"),
        _field("preferred", pa.string(), "the better response; whoever shows both must shuffle them"),
        _field("rejected", pa.string(), "the worse response"),
    ]
)

TABLES: dict[str, pa.Schema] = {
    "questions": QUESTIONS,
    "documents": DOCUMENTS,
    "claims": CLAIMS,
    "responses": RESPONSES,
    "judgements": JUDGEMENTS,
}


def file_name(table: str) -> str:
    """File of a table inside the prepared folder."""
    return f"{table}.parquet"

"""What is measured on the rows of each table, one function per table.

Each takes a slice of one set, without nulls in required columns, and feeds the set's tally. Nested columns are taken
apart here, on whole columns: a list becomes its flat items and the row each came from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from faithline.data.spans import matches
from faithline.gates.row_digests import DocumentKeys, digests
from faithline.gates.row_measures import (
    BLANK,
    Seen,
    blank,
    measure_groups,
    measure_ids,
    measure_lengths,
    measure_splits,
    measure_words,
)
from faithline.gates.tally import Tally

__all__ = [
    "BLANK_ANSWERS",
    "CRITERIA",
    "EMPTY",
    "EQUAL",
    "FEWEST",
    "IRRELEVANT",
    "MEASURES",
    "MISALIGNED",
    "MISMATCHED",
    "MISSING_DOCUMENTS",
    "MOST",
    "TASKS",
    "TRUTHFUL",
    "UNANSWERABLE",
    "UNANSWERED",
    "UNKNOWN",
    "UNKNOWN_CRITERIA",
    "UNKNOWN_TASKS",
    "Slice",
]

UNANSWERED = "answerable questions without an answer"
BLANK_ANSWERS = "questions with a blank answer"
UNANSWERABLE = "share unanswerable"
UNKNOWN = "share unknown"
FEWEST = "fewest per question"
MOST = "most per question"
MISSING_DOCUMENTS = "ids that no document has"
MISALIGNED = "lists of another length than documents"
IRRELEVANT = "share irrelevant"
EMPTY = "share blank"
TRUTHFUL = "share truthful"
UNKNOWN_TASKS = "unknown tasks"
UNKNOWN_CRITERIA = "unknown criteria"
EQUAL = "values equal to preferred"
MISMATCHED = "share of spans that differ from their text"
TASKS = {"responses": ("qa", "summary", "data2txt"), "judgements": ("qa", "summary")}
CRITERIA = ("completeness", "conciseness", "faithfulness", "refusal_answerable", "refusal_unanswerable")

_MANY = 64
"""From here on, documents per question are one category of the distribution."""


class Slice(NamedTuple):
    """Rows of one set, and what they are checked against."""

    rows: pa.Table
    set_name: str
    seen: Seen
    documents: DocumentKeys
    """All documents; complete before any other table is measured."""
    buckets: int


def _documents(tally: Tally, part: Slice) -> None:
    ids, texts = part.rows["document_id"], part.rows["text"]
    measure_ids(tally, "documents.document_id", ids, part.set_name, part.documents)
    measure_lengths(tally, "documents.text", texts)
    tally.share("documents.text", EMPTY, blank(texts), ids)


def _questions(tally: Tally, part: Slice) -> None:
    rows = part.rows
    ids, texts = rows["question_id"], rows["question"]
    measure_ids(tally, "questions.question_id", ids, part.set_name, part.seen.ids)
    measure_splits(tally, "questions.split", rows["split"])
    tally.violations("questions.question", BLANK, blank(texts), ids)
    measure_lengths(tally, "questions.question", texts)
    measure_words(tally, "questions.question", texts, part.buckets)
    _answers(tally, rows)
    tally.share("questions.hops", UNKNOWN, pc.is_null(rows["hops"]), ids)
    _document_lists(tally, part, "questions.documents", ids)
    _supporting(tally, rows)
    for column in ("answerable", "question_type", "hops"):
        tally.distribute(f"questions.{column}", "values", rows[column])


def _answers(tally: Tally, rows: pa.Table) -> None:
    ids, answers, answerable = rows["question_id"], rows["answers"], rows["answerable"]
    none = pc.equal(pc.list_value_length(answers), 0)
    tally.violations("questions.answers", UNANSWERED, pc.and_(none, answerable), ids)
    blanks = _any(answers, blank(pc.list_flatten(answers)))
    tally.violations("questions.answers", BLANK_ANSWERS, pa.array(blanks), ids)
    tally.share("questions.answerable", UNANSWERABLE, pc.invert(answerable), ids)


def _document_lists(tally: Tally, part: Slice, column: str, names: pa.ChunkedArray) -> None:
    lists = part.rows[column.split(".")[1]]
    lengths = pc.list_value_length(lists)
    tally.extremes(column, FEWEST, MOST, lengths)
    flat = pc.list_flatten(lists)
    missing = ~part.documents.contains(digests(flat)[:, 0])
    tally.violations(column, MISSING_DOCUMENTS, pa.array(missing), names.take(pc.list_parent_indices(lists)))
    tally.distribute(column, "per row", pc.min_element_wise(lengths, _MANY))


def _supporting(tally: Tally, rows: pa.Table) -> None:
    ids, supporting, documents = rows["question_id"], rows["supporting"], rows["documents"]
    lengths = pc.list_value_length(supporting)
    column = "questions.supporting"
    tally.violations(column, MISALIGNED, pc.not_equal(lengths, pc.list_value_length(documents)), ids)
    flags = pc.list_flatten(supporting)
    tally.share_of(column, UNKNOWN, flags.null_count, len(flags))
    # Only questions with every flag known count: of a half-known one the share is not defined.
    owners = np.asarray(pc.list_parent_indices(supporting))
    known = flags.filter(pa.array(~_any(supporting, pc.is_null(flags))[owners]))
    tally.share_of(column, IRRELEVANT, len(known) - (pc.sum(known).as_py() or 0), len(known))
    tally.distribute(column, "values", flags)


def _claims(tally: Tally, part: Slice) -> None:
    rows = part.rows
    ids = rows["claim_id"]
    measure_ids(tally, "claims.claim_id", ids, part.set_name, part.seen.ids)
    measure_splits(tally, "claims.split", rows["split"])
    measure_groups(tally, "claims.question_id", rows["question_id"], rows["split"], part.seen.groups)
    for column in ("question", "answer"):
        tally.violations(f"claims.{column}", BLANK, blank(rows[column]), ids)
        measure_lengths(tally, f"claims.{column}", rows[column])
        measure_words(tally, f"claims.{column}", rows[column], part.buckets)
    truthful = rows["truthful"]
    tally.share_of("claims.truthful", TRUTHFUL, pc.sum(truthful).as_py() or 0, len(truthful))
    for column in ("category", "truthful", "best"):
        tally.distribute(f"claims.{column}", "values", rows[column])


def _responses(tally: Tally, part: Slice) -> None:
    rows = part.rows
    ids, texts = rows["response_id"], rows["response"]
    measure_ids(tally, "responses.response_id", ids, part.set_name, part.seen.ids)
    measure_splits(tally, "responses.split", rows["split"])
    measure_groups(tally, "responses.source_id", rows["source_id"], rows["split"], part.seen.groups)
    _known(tally, "responses.task", UNKNOWN_TASKS, rows["task"], TASKS["responses"])
    _document_lists(tally, part, "responses.documents", ids)
    tally.share("responses.response", EMPTY, blank(texts), ids)
    measure_lengths(tally, "responses.response", texts)
    measure_words(tally, "responses.response", texts, part.buckets)
    _labels(tally, rows)
    for column in ("task", "model", "quality"):
        tally.distribute(f"responses.{column}", "values", rows[column])


def _labels(tally: Tally, rows: pa.Table) -> None:
    lists = rows["labels"].combine_chunks()
    labels, owners = pc.list_flatten(lists), pc.list_parent_indices(lists)
    texts = rows["response"].combine_chunks()
    wrong = ~matches(texts, owners, labels.field("start"), labels.field("end"), labels.field("text"))
    tally.share("responses.labels", MISMATCHED, pa.array(wrong), rows["response_id"].take(owners))
    tally.distribute("responses.labels", "per row", pc.min_element_wise(pc.list_value_length(lists), _MANY))
    tally.distribute("responses.labels", "types", labels.field("type"))


def _judgements(tally: Tally, part: Slice) -> None:
    rows = part.rows
    ids = rows["judgement_id"]
    measure_ids(tally, "judgements.judgement_id", ids, part.set_name, part.seen.ids)
    measure_splits(tally, "judgements.split", rows["split"])
    measure_groups(tally, "judgements.source_id", rows["source_id"], rows["split"], part.seen.groups)
    _known(tally, "judgements.task", UNKNOWN_TASKS, rows["task"], TASKS["judgements"])
    _known(tally, "judgements.criterion", UNKNOWN_CRITERIA, rows["criterion"], CRITERIA)
    _document_lists(tally, part, "judgements.documents", ids)
    for column in ("preferred", "rejected"):
        tally.violations(f"judgements.{column}", BLANK, blank(rows[column]), ids)
        measure_lengths(tally, f"judgements.{column}", rows[column])
        measure_words(tally, f"judgements.{column}", rows[column], part.buckets)
    tally.violations("judgements.rejected", EQUAL, pc.equal(rows["preferred"], rows["rejected"]), ids)
    for column in ("task", "criterion"):
        tally.distribute(f"judgements.{column}", "values", rows[column])


def _known(tally: Tally, column: str, measure: str, values: pa.ChunkedArray, allowed: Sequence[str]) -> None:
    tally.violations(column, measure, pc.invert(pc.is_in(values, pa.array(allowed))), values)


def _any(lists: pa.ChunkedArray, flags: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    """Say which lists have an item whose flag is true, shape (n,)."""
    owners = np.asarray(pc.list_parent_indices(lists))
    return np.bincount(owners[np.asarray(flags, dtype=np.bool_)], minlength=len(lists)) > 0


MEASURES: Mapping[str, Callable[[Tally, Slice], None]] = {
    "documents": _documents,
    "questions": _questions,
    "claims": _claims,
    "responses": _responses,
    "judgements": _judgements,
}
"""In the order in which the tables must be read."""

"""Questions to Arrow: batches of typed records become rows of the questions and documents tables.

In two steps, so that several processes can share the work. `question_batch` is a pure function of its questions: it
hashes and builds all columns. `settle` compares with what came before: repeated questions go, and documents already
written are not written again; it touches whole columns only.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from faithline.data.document_store import Digests, DocumentStore, document_digests, document_ids
from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.records import Question
from faithline.data.repeats import RepeatFilter, hash_words
from faithline.data.schema import QUESTIONS, SPLITS
from faithline.data.splits import Splitter

__all__ = ["QuestionBatch", "list_column", "question_batch", "settle", "split_column"]


class QuestionBatch(NamedTuple):
    """The columns of some consecutive questions, not yet compared with any others."""

    questions: pa.Table
    """Rows of QUESTIONS."""
    where: list[str]
    keys: npt.NDArray[np.uint64]
    """Hash of each question's id."""
    checks: npt.NDArray[np.uint64]
    """Hash of everything else of it."""
    lengths: npt.NDArray[np.int64]
    """Documents per question."""
    titles: pa.Array
    """Of all documents of all questions, as are `texts` and `digests`."""
    texts: pa.Array
    digests: Digests


def question_batch(questions: Sequence[Question], splitter: Splitter) -> QuestionBatch:
    """Build the columns of some questions.

    Args:
        questions: Consecutive ones, in the order of the file.
        splitter: Deals the splits; its set name becomes the first part of every id.
    """
    titles = [title for question in questions for title in question.titles]
    texts = [text for question in questions for text in question.texts]
    lengths = np.array([len(question.texts) for question in questions], dtype=np.int64)
    digests = document_digests(titles, texts)
    return QuestionBatch(
        questions=_rows(questions, document_ids(splitter.set_name, digests), lengths, splitter),
        where=[question.where for question in questions],
        keys=hash_words(question.source_id.encode() for question in questions),
        checks=hash_words(_contents(questions, digests, lengths)),
        lengths=lengths,
        titles=pa.array(titles, pa.string()),
        texts=pa.array(texts, pa.string()),
        digests=digests,
    )


def settle(
    batch: QuestionBatch, repeats: RepeatFilter, store: DocumentStore, ledger: RowLedger
) -> tuple[pa.Table, pa.Table]:
    """Return the rows of QUESTIONS that are new, and the rows of DOCUMENTS that appear in them for the first time.

    Args:
        batch: The next questions of the file.
        repeats: The set's questions so far; takes note of repeated and conflicting ids.
        store: The set's documents so far.
        ledger: Takes note of kept rows.

    Raises:
        DataInvalid: If an id comes back with other content and the ledger says fail.
    """
    ids = batch.questions["question_id"].to_pylist()
    fresh = repeats.first_hashed(batch.keys, batch.checks, ids, batch.where)
    ledger.kept += int(fresh.sum())
    if fresh.all():
        return batch.questions, store.add(batch.digests, batch.titles, batch.texts)
    shown = np.repeat(fresh, batch.lengths)
    mask = pa.array(shown)
    documents = store.add(batch.digests[shown], batch.titles.filter(mask), batch.texts.filter(mask))
    return batch.questions.filter(pa.array(fresh)), documents


def split_column(splitter: Splitter, ids: Sequence[str]) -> pa.Array:
    """Return the name of the split of each id."""
    return pa.array(SPLITS, pa.string()).take(pa.array(splitter.assign(ids)))


def list_column(values: pa.Array, lengths: npt.NDArray[np.int64], kind: pa.DataType) -> pa.Array:
    """Cut a flat array into lists of the given lengths."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values, type=kind)


def _contents(
    batch: Sequence[Question], digests: npt.NDArray[np.uint64], lengths: npt.NDArray[np.int64]
) -> list[bytes]:
    """Everything that makes two rows with one id equal, documents by digest."""
    ends = np.cumsum(lengths)
    return [
        msgspec.json.encode((q.question, q.answers, q.answerable, q.question_type, q.hops, q.supporting, q.plan))
        + digests[end - length : end].tobytes()
        for q, end, length in zip(batch, ends.tolist(), lengths.tolist(), strict=True)
    ]


def _rows(
    questions: Sequence[Question], document_ids: pa.Array, lengths: npt.NDArray[np.int64], splitter: Splitter
) -> pa.Table:
    def column(name: str, values: Sequence[object]) -> pa.Array:
        return pa.array(values, QUESTIONS.field(name).type)

    flags = pa.array(chain.from_iterable(question.supporting for question in questions), pa.bool_())
    return pa.table(
        {
            "question_id": column("question_id", [f"{splitter.set_name}/{q.source_id}" for q in questions]),
            "set": column("set", [splitter.set_name] * len(questions)),
            "split": split_column(splitter, [q.group_id for q in questions]),
            "question": column("question", [q.question for q in questions]),
            "answers": column("answers", [q.answers for q in questions]),
            "answerable": column("answerable", [q.answerable for q in questions]),
            "question_type": column("question_type", [q.question_type for q in questions]),
            "hops": column("hops", [q.hops for q in questions]),
            "documents": list_column(document_ids, lengths, QUESTIONS.field("documents").type),
            "supporting": list_column(flags, lengths, QUESTIONS.field("supporting").type),
            "plan": column("plan", [q.plan for q in questions]),
        },
        schema=QUESTIONS,
    )

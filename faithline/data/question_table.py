"""Questions to Arrow: batches of typed records become rows of the questions and documents tables.

Everything per document (hashing aside) happens on whole columns. Batches are cut by the amount of text, not by rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, compress

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from faithline.data.batches import batches
from faithline.data.document_store import DocumentStore, document_digests
from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.records import Question
from faithline.data.repeats import RepeatFilter
from faithline.data.schema import QUESTIONS, SPLITS
from faithline.data.splits import Splitter

__all__ = ["list_column", "question_tables", "split_column"]

_BATCH_CHARACTERS = 4 * 2**20


def question_tables(
    questions: Iterable[Question], splitter: Splitter, store: DocumentStore, ledger: RowLedger
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Turn a set's questions into table rows, batch by batch.

    Args:
        questions: In the order of the file.
        splitter: Deals the splits; its set name becomes the first part of every id.
        store: The set's documents so far.
        ledger: Takes note of repeated and conflicting ids, and of kept rows.

    Yields:
        Rows of QUESTIONS, and rows of DOCUMENTS that appear in them for the first time.
    """
    repeats = RepeatFilter(ledger)
    for batch in batches(questions, _characters, _BATCH_CHARACTERS):
        digests = document_digests(
            [title for question in batch for title in question.titles],
            [text for question in batch for text in question.texts],
        )
        lengths = np.array([len(question.texts) for question in batch])
        fresh = repeats.first(
            [question.source_id for question in batch],
            _contents(batch, digests, lengths),
            [question.where for question in batch],
        )
        kept = list(compress(batch, fresh))
        digests, lengths = digests[np.repeat(fresh, lengths)], lengths[fresh]
        ledger.kept += len(kept)
        documents = store.add(
            digests,
            [title for question in kept for title in question.titles],
            [text for question in kept for text in question.texts],
        )
        yield _rows(kept, store.ids(digests), lengths, splitter), documents


def split_column(splitter: Splitter, ids: Sequence[str]) -> pa.Array:
    """Return the name of the split of each id."""
    return pa.array(SPLITS, pa.string()).take(pa.array(splitter.assign(ids)))


def list_column(values: pa.Array, lengths: npt.NDArray[np.int64], kind: pa.DataType) -> pa.Array:
    """Cut a flat array into lists of the given lengths."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values, type=kind)


def _characters(question: Question) -> int:
    return sum(map(len, question.texts))


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

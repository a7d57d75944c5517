"""Pairwise judgements to Arrow: contexts become documents, pairs become rows that point at them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress

import pyarrow as pa

from faithline.data.batches import batches
from faithline.data.document_store import DocumentStore, document_digests
from faithline.data.question_table import split_column
from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.records import Judgement
from faithline.data.repeats import RepeatFilter
from faithline.data.schema import JUDGEMENTS
from faithline.data.splits import Splitter

__all__ = ["judgement_tables"]

_BATCH_CHARACTERS = 4 * 2**20


def judgement_tables(
    judgements: Iterable[Judgement], splitter: Splitter, store: DocumentStore, ledger: RowLedger
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Turn pairs into rows of JUDGEMENTS, and of DOCUMENTS that appear for the first time, batch by batch.

    Args:
        judgements: In the order of the file.
        splitter: Deals the splits by source; its set name becomes the first part of every id.
        store: The set's documents so far.
        ledger: Takes note of repeated pairs (the id is a hash of the whole pair), and of kept rows.
    """
    repeats = RepeatFilter(ledger)
    for batch in batches(judgements, _characters, _BATCH_CHARACTERS):
        ids = [judgement.judgement_id for judgement in batch]
        fresh = repeats.first(ids, [key.encode() for key in ids], [judgement.where for judgement in batch])
        kept = list(compress(batch, fresh))
        ledger.kept += len(kept)
        titles = [title for judgement in kept for title in judgement.titles]
        texts = [text for judgement in kept for text in judgement.texts]
        digests = document_digests(titles, texts)
        yield _rows(kept, store.ids(digests).to_pylist(), splitter), store.add(digests, titles, texts)


def _characters(judgement: Judgement) -> int:
    return sum(map(len, judgement.texts)) + len(judgement.preferred) + len(judgement.rejected)


def _rows(judgements: Sequence[Judgement], document_ids: list[str], splitter: Splitter) -> pa.Table:
    name = splitter.set_name
    left = iter(document_ids)
    return pa.table(
        {
            "judgement_id": [f"{name}/{judgement.judgement_id}" for judgement in judgements],
            "source_id": [f"{name}/{judgement.source_id}" for judgement in judgements],
            "set": [name] * len(judgements),
            "split": split_column(splitter, [judgement.source_id for judgement in judgements]),
            "origin": [judgement.origin for judgement in judgements],
            "task": [judgement.task for judgement in judgements],
            "criterion": [judgement.criterion for judgement in judgements],
            "query": [judgement.query for judgement in judgements],
            "documents": [[next(left) for _ in judgement.texts] for judgement in judgements],
            "preferred": [judgement.preferred for judgement in judgements],
            "rejected": [judgement.rejected for judgement in judgements],
        },
        schema=JUDGEMENTS,
    )

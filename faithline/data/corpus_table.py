"""A passage file to Arrow: every passage that no question brought along becomes a row of the documents table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from faithline.data.batches import batches
from faithline.data.document_store import DocumentStore, document_digests
from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.records import Document

__all__ = ["corpus_tables"]

_BATCH_CHARACTERS = 4 * 2**20


def corpus_tables(documents: Iterable[Document], store: DocumentStore, ledger: RowLedger) -> Iterator[pa.Table]:
    """Yield rows of DOCUMENTS, batch by batch.

    Args:
        documents: In the order of the file.
        store: The set's documents so far; equal title and text make no second row.
        ledger: The passage file's own ledger; a passage already there is kept, for its row exists.
    """
    for batch in batches(documents, lambda document: len(document.text), _BATCH_CHARACTERS):
        titles = [document.title for document in batch]
        texts = [document.text for document in batch]
        ledger.kept += len(batch)
        yield store.add(document_digests(titles, texts), titles, texts)

"""Annotated responses to Arrow: sources give the documents and the split, responses become rows that point at them.

Sources are read first and whole: a source's own row is small once its documents are written (ids only), and responses
come in any order. A response to a source that is not there is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import NamedTuple

import msgspec
import pyarrow as pa

from faithline.data.batches import batches
from faithline.data.document_store import DocumentStore, document_digests
from faithline.data.question_table import split_column
from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.records import Response, Source
from faithline.data.repeats import RepeatFilter
from faithline.data.schema import RESPONSES
from faithline.data.splits import Splitter

__all__ = ["ResponseTables"]

_BATCH_CHARACTERS = 4 * 2**20


class _Known(NamedTuple):
    task: str
    query: str
    documents: list[str]


class ResponseTables:
    """Turns the sources and responses of one set into table rows; call `add_sources` to the end first."""

    def __init__(self, splitter: Splitter, store: DocumentStore, ledger: RowLedger) -> None:
        self._splitter = splitter
        self._store = store
        self._ledger = ledger
        self._known: dict[str, _Known] = {}
        self._beyond_limit: set[str] = set()

    @property
    def sources(self) -> int:
        """Sources kept."""
        return len(self._known)

    def add_sources(self, sources: Iterable[Source], limit: int | None) -> Iterator[pa.Table]:
        """Yield rows of DOCUMENTS that appear for the first time.

        Args:
            sources: In the order of the file.
            limit: Keep only the first `limit` sources; later ones, and responses to them, are counted as left out.
        """
        repeats = RepeatFilter(self._ledger)
        for batch in batches(sources, lambda source: sum(map(len, source.texts)), _BATCH_CHARACTERS):
            room = None if limit is None else max(limit - self.sources, 0)
            fresh = repeats.first(
                [source.source_id for source in batch],
                [msgspec.json.encode((s.task, s.query, s.titles, s.texts)) for s in batch],
                [source.where for source in batch],
            )
            kept = list(compress(batch, fresh))
            for source in kept[room:] if room is not None else []:
                self._beyond_limit.add(source.source_id)
                self._ledger.leave_out("beyond_limit")
            yield self._documents(kept[:room])

    def _documents(self, sources: Sequence[Source]) -> pa.Table:
        titles = [title for source in sources for title in source.titles]
        texts = [text for source in sources for text in source.texts]
        digests = document_digests(titles, texts)
        ids = self._store.ids(digests).to_pylist()
        done = 0
        for source in sources:
            self._known[source.source_id] = _Known(source.task, source.query, ids[done : done + len(source.texts)])
            done += len(source.texts)
        self._ledger.kept += len(sources)
        return self._store.add(digests, titles, texts)

    def responses(self, responses: Iterable[Response]) -> Iterator[pa.Table]:
        """Yield rows of RESPONSES."""
        repeats = RepeatFilter(self._ledger)
        for batch in batches(self._to_known_sources(responses), lambda row: len(row.response), _BATCH_CHARACTERS):
            fresh = repeats.first(
                [response.response_id for response in batch],
                [msgspec.json.encode((r.source_id, r.response, r.model, r.quality, r.labels)) for r in batch],
                [response.where for response in batch],
            )
            kept = list(compress(batch, fresh))
            self._ledger.kept += len(kept)
            yield self._rows(kept)

    def _to_known_sources(self, responses: Iterable[Response]) -> Iterator[Response]:
        for response in responses:
            if response.source_id in self._known:
                yield response
            elif response.source_id in self._beyond_limit:
                self._ledger.leave_out("beyond_limit")
            else:
                self._ledger.reject(
                    response.where, "unknown_source", f"response {response.response_id} to {response.source_id}"
                )

    def _rows(self, responses: Sequence[Response]) -> pa.Table:
        name = self._splitter.set_name
        known = [self._known[response.source_id] for response in responses]
        return pa.table(
            {
                "response_id": [f"{name}/{response.response_id}" for response in responses],
                "source_id": [f"{name}/{response.source_id}" for response in responses],
                "set": [name] * len(responses),
                "split": split_column(self._splitter, [response.source_id for response in responses]),
                "task": [source.task for source in known],
                "query": [source.query for source in known],
                "documents": [source.documents for source in known],
                "response": [response.response for response in responses],
                "model": [response.model for response in responses],
                "quality": [response.quality for response in responses],
                "labels": [[msgspec.structs.asdict(label) for label in r.labels] for r in responses],
            },
            schema=RESPONSES,
        )

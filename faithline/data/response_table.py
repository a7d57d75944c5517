"""AnnotatedRow responses to Arrow: sources give the documents and the split, responses become rows that point at them.

Sources are read first and whole: a source's own row is small once its documents are written (ids only), and responses
come in any order. A response to a source that is not there is refused. Formats whose rows hold both are read in one
pass; a source that comes back with another text refuses its row.
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
from faithline.data.readers.records import AnnotatedRow, Response, Source
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
                [msgspec.json.encode(_told(source)) for source in batch],
                [source.where for source in batch],
            )
            kept = list(compress(batch, fresh))
            for source in kept[room:] if room is not None else []:
                self._beyond_limit.add(source.source_id)
                self._ledger.leave_out("beyond_limit")
            self._ledger.kept += len(kept[:room])
            yield self._documents(kept[:room])

    def annotated(self, rows: Iterable[AnnotatedRow]) -> Iterator[tuple[pa.Table, pa.Table]]:
        """Turn rows that hold a source and its responses into rows of DOCUMENTS and of RESPONSES; a row counts once."""
        repeats = RepeatFilter(self._ledger)
        for batch in batches(rows, _row_characters, _BATCH_CHARACTERS):
            fresh = repeats.first(
                [row.row_id for row in batch],
                [msgspec.json.encode((_told(row.source), [_said(r) for r in row.responses])) for row in batch],
                [row.where for row in batch],
            )
            documents, kept = self._agreeing(list(compress(batch, fresh)))
            self._ledger.kept += len(kept)
            yield documents, self._rows([response for row in kept for response in row.responses])

    def _agreeing(self, rows: Sequence[AnnotatedRow]) -> tuple[pa.Table, list[AnnotatedRow]]:
        """Register the sources of new rows; leave out the rows whose source contradicts an earlier one."""
        kept: list[AnnotatedRow] = []
        first: dict[str, Source] = {}
        for row in rows:
            source = row.source
            earlier = first.setdefault(source.source_id, source)
            known = self._known.get(source.source_id)
            agrees = _told(earlier) == _told(source) if known is None else self._seen(source) == known
            if agrees:
                kept.append(row)
            else:
                detail = f"source {source.source_id} was seen before with other content"
                self._ledger.reject(row.where, "conflicting_id", detail)
        return self._documents([s for key, s in first.items() if key not in self._known]), kept

    def _seen(self, source: Source) -> _Known:
        ids = self._store.ids(document_digests(source.titles, source.texts)).to_pylist()
        return _Known(source.task, source.query, ids)

    def _documents(self, sources: Sequence[Source]) -> pa.Table:
        titles = [title for source in sources for title in source.titles]
        texts = [text for source in sources for text in source.texts]
        digests = document_digests(titles, texts)
        ids = self._store.ids(digests).to_pylist()
        done = 0
        for source in sources:
            self._known[source.source_id] = _Known(source.task, source.query, ids[done : done + len(source.texts)])
            done += len(source.texts)
        return self._store.add(digests, titles, texts)

    def responses(self, responses: Iterable[Response]) -> Iterator[pa.Table]:
        """Yield rows of RESPONSES."""
        repeats = RepeatFilter(self._ledger)
        for batch in batches(self._to_known_sources(responses), lambda row: len(row.response), _BATCH_CHARACTERS):
            fresh = repeats.first(
                [response.response_id for response in batch],
                [msgspec.json.encode(_said(response)) for response in batch],
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


def _told(source: Source) -> tuple[object, ...]:
    """What makes two sources with one id equal."""
    return source.task, source.query, source.titles, source.texts


def _said(response: Response) -> tuple[object, ...]:
    """What makes two responses with one id equal."""
    return response.source_id, response.response, response.model, response.quality, response.labels


def _row_characters(row: AnnotatedRow) -> int:
    return sum(map(len, row.source.texts)) + sum(len(response.response) for response in row.responses)

"""One source as a stream of table rows: which reader and which tables belong to a format."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from faithline.data.claim_table import claim_tables
from faithline.data.corpus_table import corpus_tables
from faithline.data.document_store import DocumentStore
from faithline.data.judgement_table import judgement_tables
from faithline.data.question_stream import question_stream, worker_count
from faithline.data.raw_source import RawSource
from faithline.data.readers import QUESTION_FORMATS, joined_format
from faithline.data.readers.contextual_judge_bench import read_judgements
from faithline.data.readers.corpus import read_corpus
from faithline.data.readers.faithbench import read_faithbench
from faithline.data.readers.faithjudge import FAITHJUDGE
from faithline.data.readers.json_rows import OnBytes
from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.ragtruth import RAGTRUTH_HUB, read_responses, read_sources
from faithline.data.readers.truthfulqa import read_claims
from faithline.data.readers.variants import read_records
from faithline.data.response_table import ResponseTables
from faithline.data.splits import Splitter
from faithline.pipeline.errors import ConfigError

__all__ = ["Tables", "table_stream"]

Tables = dict[str, pa.Table]
"""Table name to rows."""


def table_stream(
    source: RawSource, splitter: Splitter, ledger: RowLedger, passages: RowLedger, on_bytes: OnBytes
) -> Iterator[Tables]:
    """Stream the table rows of a source, batch by batch.

    Args:
        source: What to read.
        splitter: Deals the splits.
        ledger: Takes note of the source's rows.
        passages: Takes note of the rows of its passage file.
        on_bytes: Progress.

    Raises:
        ConfigError: If the source has a passage file that its format has no use for.
        DataInvalid: If a file cannot be read, or has a bad row and the ledger says fail.
    """
    name, path, limit = source.settings.format, source.path, source.settings.limit
    store = DocumentStore(source.settings.name)
    if source.documents is not None and name not in QUESTION_FORMATS:
        raise ConfigError(
            f"source {source.settings.name}: the format {name} takes no passage file",
            where="params.yaml: prepare_data.sources",
            next_step="remove `documents` from the source",
        )
    match name:
        case "truthfulqa":
            for claims in claim_tables(read_claims(path, ledger, limit, on_bytes), splitter, ledger):
                yield {"claims": claims}
        case "contextualjudgebench":
            pairs = read_judgements(path, ledger, limit, on_bytes)
            for judgements, documents in judgement_tables(pairs, splitter, store, ledger):
                yield {"judgements": judgements, "documents": documents}
        case "ragtruth" | "faithbench" | "faithjudge":
            yield from _responses(source, ResponseTables(splitter, store, ledger), ledger, on_bytes)
        case _:
            yield from _questions(source, splitter, ledger, passages, on_bytes)


def _responses(source: RawSource, tables: ResponseTables, ledger: RowLedger, on_bytes: OnBytes) -> Iterator[Tables]:
    name, path, limit = source.settings.format, source.path, source.settings.limit
    if name == "ragtruth" and path.is_dir():
        for documents in tables.add_sources(read_sources(path, ledger, on_bytes), limit):
            yield {"documents": documents}
        for responses in tables.responses(read_responses(path, ledger, on_bytes)):
            yield {"responses": responses}
        return
    if name == "faithbench":
        rows = read_faithbench(path, ledger, limit, on_bytes)
    else:
        rows = read_records(path, FAITHJUDGE if name == "faithjudge" else RAGTRUTH_HUB, ledger, limit, on_bytes)
    for documents, responses in tables.annotated(rows):
        yield {"documents": documents, "responses": responses}


def _questions(
    source: RawSource,
    splitter: Splitter,
    ledger: RowLedger,
    passages: RowLedger,
    on_bytes: OnBytes,
) -> Iterator[Tables]:
    name, path, corpus = source.settings.format, source.path, source.documents
    store = DocumentStore(source.settings.name)
    form = QUESTION_FORMATS[name]
    # BioASQ's abstracts are a look-up table, of which the cited part is wanted; other passage files are corpora to
    # retrieve from, read once more below and counted there.
    if corpus is not None and name == "bioasq":
        form = joined_format(name, path, corpus, passages, on_bytes)
    elif corpus is not None:
        form = joined_format(name, path, corpus, passages.apart(), _silent)
    # A format that holds a passage file in memory stays in this process.
    workers = worker_count(path.stat().st_size) if form is QUESTION_FORMATS[name] else 0
    limit = source.settings.limit
    stream = question_stream(path, form, splitter, store, ledger, limit=limit, workers=workers, on_bytes=on_bytes)
    for questions, documents in stream:
        yield {"questions": questions, "documents": documents}
    if corpus is not None and name != "bioasq":
        for documents in corpus_tables(read_corpus(corpus, passages, on_bytes), store, passages):
            yield {"documents": documents}


def _silent(_: int) -> None:
    """Progress in a corpus is told by the pass that writes it."""

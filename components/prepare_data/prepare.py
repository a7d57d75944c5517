"""Reading every source into the prepared tables, set by set, streaming.

One source makes one set. For each, a reader streams typed records, batches of them become Arrow rows, and a background
thread writes these. The ledger of the source and the digest of its files end up in sources.json beside the tables, so
that a prepared folder says what it was made of and what was left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from components.prepare_data.params import PrepareData, SourceSettings
from components.prepare_data.statistics import SetCounts
from faithline.data.claim_table import claim_tables
from faithline.data.document_store import DocumentStore
from faithline.data.question_table import question_tables
from faithline.data.readers import QUESTION_FORMATS
from faithline.data.readers.json_rows import OnBytes
from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.ragtruth import RESPONSES_FILE, SOURCES_FILE, read_responses, read_sources
from faithline.data.readers.truthfulqa import read_claims
from faithline.data.readers.variants import read_questions
from faithline.data.response_table import ResponseTables
from faithline.data.schema import SPLITS
from faithline.data.splits import Splitter
from faithline.data.tables import PreparedWriter
from faithline.pipeline.errors import ConfigError, DataInvalid
from faithline.pipeline.records import file_digest, write_json

__all__ = ["SOURCES_JSON", "RawSource", "SourceReport", "prepare"]

SOURCES_JSON = "sources.json"


@dataclass(frozen=True)
class RawSource:
    """A source whose path was resolved."""

    settings: SourceSettings
    path: Path

    def files(self) -> list[Path]:
        """The files that are read.

        Raises:
            DataInvalid: If one is missing.
        """
        names = [SOURCES_FILE, RESPONSES_FILE] if self.settings.format == "ragtruth" else []
        files = [self.path / name for name in names] or [self.path]
        for file in files:
            if not file.is_file():
                raise DataInvalid(
                    f"source {self.settings.name}: file not found",
                    where=str(file),
                    next_step="check prepare_data.root and the source's path in params.yaml",
                )
        return files


@dataclass(frozen=True)
class SourceReport:
    """What became of one source."""

    source: RawSource
    ledger: RowLedger
    counts: SetCounts
    digests: dict[str, str]
    """File name to SHA-256."""

    def metrics(self) -> dict[str, float | int]:
        """Flat metrics, each key starting with the set's name."""
        found = self.counts.metrics() | {"rows_skipped": self.ledger.skipped.total()}
        return {f"{self.source.settings.name}_{key}": value for key, value in found.items()}

    def entry(self) -> dict[str, object]:
        """The source's part of sources.json; places in it are relative, so that the bytes do not tell the machine."""
        prefix = f"{self.source.path.parent}/"
        return {
            "format": self.source.settings.format,
            "variant": self.ledger.variant,
            "sha256": self.digests,
            "rows": self.ledger.rows,
            "kept": self.ledger.kept,
            "skipped": dict(self.ledger.skipped),
            "skipped_examples": [example.removeprefix(prefix) for example in self.ledger.examples],
            "noticed": dict(self.ledger.noticed),
            "tables": dict(self.counts.rows),
            "rows_per_split": {split: self.counts.splits[split] for split in SPLITS},
        }


def prepare(
    settings: PrepareData,
    sources: Sequence[RawSource],
    out: Path,
    on_bytes: OnBytes,
    on_source: Callable[[SourceReport], None],
) -> dict[str, float | int]:
    """Read all sources and write the prepared folder.

    Args:
        settings: Split seed and rule for bad rows.
        sources: What to read, in order.
        out: An empty folder; gets the four tables and sources.json.
        on_bytes: Called with the bytes read, for progress.
        on_source: Called after each source.

    Returns:
        Flat metrics of all sets.

    Raises:
        ConfigError: If two sources share a name, or shares do not sum to 1.
        DataInvalid: If a file is missing, unreadable or without usable rows, has a bad row and on_invalid is fail, or
            if no question is left at the end.
    """
    splitters = _splitters(settings, sources)
    reports = []
    with PreparedWriter(out) as writer:
        for source in sources:
            report = _prepare_source(source, splitters[source.settings.name], settings, writer, on_bytes)
            reports.append(report)
            on_source(report)
        if not writer.rows["questions"]:
            raise DataInvalid(
                "no questions were found in any source",
                where="params.yaml: prepare_data.sources",
                next_step="add a source of questions with documents (e.g. hotpotqa)",
            )
    write_json(out / SOURCES_JSON, {report.source.settings.name: report.entry() for report in reports})
    return {key: value for report in reports for key, value in report.metrics().items()}


def _splitters(settings: PrepareData, sources: Sequence[RawSource]) -> dict[str, Splitter]:
    splitters: dict[str, Splitter] = {}
    for source in sources:
        name, shares = source.settings.name, source.settings.shares
        if name in splitters:
            raise ConfigError(
                f"two sources are named {name}",
                where="params.yaml: prepare_data.sources",
                next_step="give each source a name of its own: it is the first part of every id",
            )
        splitters[name] = Splitter(settings.split_seed, name, (shares.train, shares.validation, shares.test))
    return splitters


def _prepare_source(
    source: RawSource, splitter: Splitter, settings: PrepareData, writer: PreparedWriter, on_bytes: OnBytes
) -> SourceReport:
    ledger = RowLedger(source.settings.name, settings.on_invalid)
    counts = SetCounts()
    files = source.files()
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="sha256") as hashing:
        digests = {file.name: hashing.submit(file_digest, file) for file in files}
        for tables in _tables(source, splitter, ledger, on_bytes):
            counts.add(tables)
            for table, rows in tables.items():
                writer.write(table, rows)
        if not ledger.kept:
            raise DataInvalid(
                f"source {source.settings.name} has no usable row: {ledger.rows} read, "
                f"skipped {dict(ledger.skipped) or 'none'}",
                where=str(source.path),
                next_step="check the source's path and format; " + (ledger.examples or ["the file may be cut off"])[0],
            )
        return SourceReport(source, ledger, counts, {name: digest.result() for name, digest in digests.items()})


def _tables(
    source: RawSource, splitter: Splitter, ledger: RowLedger, on_bytes: OnBytes
) -> Iterator[dict[str, pa.Table]]:
    """Stream the table rows of a source: table name to rows, batch by batch."""
    path, limit = source.path, source.settings.limit
    store = DocumentStore(source.settings.name)
    match source.settings.format:
        case "truthfulqa":
            for claims in claim_tables(read_claims(path, ledger, limit, on_bytes), splitter, ledger):
                yield {"claims": claims}
        case "ragtruth":
            tables = ResponseTables(splitter, store, ledger)
            for documents in tables.add_sources(read_sources(path, ledger, on_bytes), limit):
                yield {"documents": documents}
            for responses in tables.responses(read_responses(path, ledger, on_bytes)):
                yield {"responses": responses}
        case name:
            rows = read_questions(path, QUESTION_FORMATS[name], ledger, limit, on_bytes)
            for questions, documents in question_tables(rows, splitter, store, ledger):
                yield {"questions": questions, "documents": documents}

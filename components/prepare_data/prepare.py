"""Reading every source into the prepared tables, set by set, streaming.

One source makes one set. For each, a reader streams typed records, batches of them become Arrow rows, and a background
thread writes these. The ledger of the source and the digest of its files end up in sources.json beside the tables, so
that a prepared folder says what it was made of and what was left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from components.prepare_data.params import PrepareData
from components.prepare_data.statistics import SetCounts
from faithline.data.raw_source import RawSource
from faithline.data.readers.json_rows import OnBytes
from faithline.data.readers.ledger import RowLedger
from faithline.data.schema import SPLITS
from faithline.data.splits import Splitter
from faithline.data.table_stream import table_stream
from faithline.data.tables import PreparedWriter
from faithline.pipeline.errors import DataInvalid, PipelineError
from faithline.pipeline.records import file_digest, write_json

__all__ = ["SOURCES_JSON", "SourceReport", "prepare"]

SOURCES_JSON = "sources.json"


@dataclass(frozen=True)
class SourceReport:
    """What became of one source."""

    source: RawSource
    ledger: RowLedger
    passages: RowLedger
    """Rows of the passage file, if there is one."""
    counts: SetCounts
    digests: dict[Path, str]
    """File to SHA-256."""

    def metrics(self) -> dict[str, float | int]:
        """Flat metrics, each key starting with the set's name."""
        found = self.counts.metrics() | {"rows_skipped": self.ledger.skipped.total()}
        return {f"{self.source.settings.name}_{key}": value for key, value in found.items()}

    def entry(self) -> dict[str, object]:
        """The source's part of sources.json; places in it are relative, so that the bytes do not tell the machine."""
        passages = self.source.documents
        entry = {
            "format": self.source.settings.format,
            "sha256": {file.name: digest for file, digest in self.digests.items() if file != passages},
            **_account(self.ledger, self.source.path),
            "tables": dict(self.counts.rows),
            "rows_per_split": {split: self.counts.splits[split] for split in SPLITS},
        }
        if passages is not None:
            digest = {passages.name: self.digests[passages]}
            entry["passages"] = {"sha256": digest, **_account(self.passages, passages)}
        return entry


def _account(ledger: RowLedger, path: Path) -> dict[str, object]:
    prefix = f"{path.parent}/"
    return {
        "variant": ledger.variant,
        "rows": ledger.rows,
        "kept": ledger.kept,
        "skipped": dict(ledger.skipped),
        "skipped_examples": [example.removeprefix(prefix) for example in ledger.examples],
        "noticed": dict(ledger.noticed),
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
        out: An empty folder; gets the tables and sources.json.
        on_bytes: Called with the bytes read, for progress.
        on_source: Called after each source.

    Returns:
        Flat metrics of all sets.

    Raises:
        ConfigError: If shares do not sum to 1.
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
    """One per set; made before anything is read, so that wrong shares of the last set cost no time."""
    splitters: dict[str, Splitter] = {}
    for source in sources:
        name, shares = source.settings.name, source.settings.shares
        splitters[name] = Splitter(settings.split_seed, name, (shares.train, shares.validation, shares.test))
    return splitters


def _prepare_source(
    source: RawSource, splitter: Splitter, settings: PrepareData, writer: PreparedWriter, on_bytes: OnBytes
) -> SourceReport:
    name = source.settings.name
    ledger = RowLedger(name, settings.on_invalid, settings.max_document_chars)
    passages = RowLedger(f"{name} (documents)", settings.on_invalid, settings.max_document_chars)
    counts = SetCounts()
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="sha256") as hashing:
        try:
            digests = {file: hashing.submit(file_digest, file) for file in source.files()}
            for tables in table_stream(source, splitter, ledger, passages, on_bytes):
                counts.add(tables)
                for table, rows in tables.items():
                    writer.write(table, rows)
        except PipelineError as error:
            error.where = source.located(error.where)
            raise
        if not ledger.kept:
            raise DataInvalid(
                f"source {name} has no usable row: {ledger.rows} read, skipped {dict(ledger.skipped) or 'none'}",
                where=source.located(str(source.path)),
                next_step="check the source's path and format; " + (ledger.examples or ["the file may be cut off"])[0],
            )
        return SourceReport(
            source, ledger, passages, counts, {file: digest.result() for file, digest in digests.items()}
        )

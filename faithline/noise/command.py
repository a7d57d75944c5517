"""`faithline noise PATH [--format NAME] [--json]`: the statistics of a prepared folder, or of one raw file."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from faithline.data.readers.ledger import RowLedger
from faithline.data.schema import file_name
from faithline.data.tables import PreparedWriter
from faithline.noise.measure import Report, measure
from faithline.noise.settings import Noise
from faithline.noise.table import findings_table, lengths_table
from faithline.pipeline.errors import ConfigError, DataInvalid

__all__ = ["SourceTables", "format_of", "noise_command", "shown"]

SourceTables = Callable[[Path, str, RowLedger], Iterator[Mapping[str, pa.Table]]]
"""Reads a raw file or folder of a format as batches of table rows, accounting for every row in the ledger."""


def noise_command(
    path: Path, name: str | None, settings: Noise, formats: tuple[str, ...], source_tables: SourceTables
) -> Report:
    """Measure a prepared folder, or a raw file as one set in one split.

    Args:
        path: The folder `data/prepared`, or a raw file (for some formats a folder).
        name: Format of the raw file; None = told from its name.
        settings: Section `noise`.
        formats: Names of all formats.
        source_tables: Reads a raw source.

    Returns:
        What `measure` returns; for a raw file with `source`: format, rows read, kept and skipped, and oddities.

    Raises:
        ConfigError: If the format is unknown or cannot be told.
        DataInvalid: If the path is missing, the file cannot be read, or no row of it can be used.
    """
    if not path.exists():
        raise DataInvalid("no such file or folder", where=str(path), next_step="check the path")
    if name is None and (path / file_name("documents")).is_file():
        return measure(path, settings, _silent)
    name = format_of(path, name, formats)
    # Bad rows are counted, whatever prepare_data would do: the question is how noisy the file is.
    ledger = RowLedger(name, "skip", sys.maxsize)
    with tempfile.TemporaryDirectory(prefix="noise-") as folder:
        with PreparedWriter(Path(folder)) as writer:
            for tables in source_tables(path, name, ledger):
                for table, rows in tables.items():
                    writer.write(table, rows)
        if not ledger.kept:
            raise DataInvalid(
                f"no usable row: {ledger.rows} read, skipped {dict(ledger.skipped) or 'none'}",
                where=str(path),
                next_step="check the path and --format; " + (ledger.examples or ["the file may be cut off"])[0],
            )
        report = measure(Path(folder), settings, _silent)
    source = {"format": name, "variant": ledger.variant, "rows": ledger.rows, "kept": ledger.kept}
    return report | {"source": source | {"skipped": dict(ledger.skipped), "noticed": dict(ledger.noticed)}}


def format_of(path: Path, name: str | None, formats: tuple[str, ...]) -> str:
    """Return the format of a raw file: as named, or the longest one that its file name holds.

    Raises:
        ConfigError: If it is unknown or cannot be told.
    """
    plain = path.name.lower().replace("-", "_")
    held = [known for known in formats if known in plain or known.replace("_", "") in plain.replace("_", "")]
    found = name if name is not None else max(held, key=len, default=None)
    if found not in formats:
        raise ConfigError(
            f"unknown format {name}" if name is not None else "the format cannot be told from the name",
            where=str(path),
            next_step=f"give --format, one of {', '.join(sorted(formats))}",
        )
    return found


def shown(report: Report, *, as_json: bool) -> str:
    """Render a report: stable JSON, or tables for a terminal."""
    if as_json:
        return json.dumps(report, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
    tables = [lengths_table(report).text(), findings_table(report).text()]
    source = report.get("source")
    head = [", ".join(f"{key} {value}" for key, value in source.items() if value)] if source else []
    return "\n\n".join([*head, *tables])


def _silent(_: int) -> None:
    """No progress: the output is meant for pipes."""

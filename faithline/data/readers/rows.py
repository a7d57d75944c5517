"""Raw rows of a file whatever its container: JSON (array, lines, envelope), Parquet, or CSV and TSV.

The content decides, not the name: Parquet has its magic number, JSON starts with a bracket or a brace, and only a
format that is published as a table takes anything else for one. Every row comes out as one JSON object, so that a
format's typed record checks all containers alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from faithline.data.readers.csv_rows import csv_rows
from faithline.data.readers.json_rows import OnBytes, RawRow, json_rows
from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.parquet_rows import MAGIC, parquet_rows

__all__ = ["raw_rows"]

_HEAD_BYTES = 4096
_MARK = b"\xef\xbb\xbf"


def raw_rows(
    path: Path, on_bytes: OnBytes, ledger: RowLedger, *, envelope: str | None = None, tabular: bool = False
) -> Iterator[RawRow]:
    """Stream the rows of a file.

    Args:
        path: The file.
        on_bytes: Progress.
        ledger: Takes note of table rows that do not fit their header.
        envelope: Key of a top-level JSON object that holds the rows.
        tabular: Whether the format is also published as CSV or TSV.

    Raises:
        DataInvalid: If the file is missing, empty, broken or in another container.
    """
    head = _head(path)
    if head.startswith(MAGIC):
        return parquet_rows(path, on_bytes)
    if tabular and head.removeprefix(_MARK).lstrip()[:1] not in {b"", b"[", b"{"}:
        return csv_rows(path, on_bytes, ledger)
    return json_rows(path, on_bytes, envelope)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except (FileNotFoundError, IsADirectoryError):
        return b""  # the JSON reader says so in its message

"""Rows of a CSV or TSV file, streamed, each as a JSON object of strings under the header's names.

The delimiter shows in the header: a tab if there is one, else a comma. Line breaks and delimiters inside quotes belong
to their cell. A row with more or fewer cells than the header is an ordinary bad row. A file whose quoting breaks is
refused whatever on_invalid says: where the next row starts is then a guess.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import msgspec

from faithline.data.readers.json_rows import OnBytes, RawRow, open_blocks
from faithline.data.readers.ledger import RowLedger
from faithline.pipeline.errors import DataInvalid

__all__ = ["csv_rows"]

_MAX_CELL = 2**28
"""Characters of one cell, as of one JSON row; Python's own limit of 131,072 is less than a long document."""


def csv_rows(path: Path, on_bytes: OnBytes, ledger: RowLedger) -> Iterator[RawRow]:
    """Stream the rows of a file.

    Args:
        path: The file.
        on_bytes: Progress.
        ledger: Takes note of rows whose cells do not fit the header.

    Raises:
        DataInvalid: If the file is missing, empty, not UTF-8, names a column twice, or its quoting is broken.
    """
    cells = _cells(path, on_bytes)
    names = [name.strip() for name in next(cells, (1, []))[1]]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataInvalid(
            f"column {', '.join(twice)} appears twice", where=f"{path}:1", next_step="rename or remove one of them"
        )
    for line, values in cells:
        where = f"{path}:{line}"
        if len(values) != len(names):
            ledger.rows += 1
            ledger.reject(where, "wrong_schema", f"{len(values)} cells under {len(names)} columns")
            continue
        yield RawRow(where, msgspec.json.encode(dict(zip(names, values, strict=True))), in_array=False)


def _cells(path: Path, on_bytes: OnBytes) -> Iterator[tuple[int, list[str]]]:
    """Yield the line each non-blank row starts at, and its cells."""
    csv.field_size_limit(_MAX_CELL)
    lines = _lines(path, on_bytes)
    header = next(lines)
    reader = csv.reader(chain([header], lines), delimiter="\t" if "\t" in header else ",", strict=True)
    start = 1
    try:
        for cells in reader:
            if cells:
                yield start, cells
            start = reader.line_num + 1
    except csv.Error as error:
        raise DataInvalid(
            f"broken CSV: {error}",
            where=f"{path}:{start}",
            next_step="repair the quoting: after a broken quote no row can be trusted",
        ) from error


def _lines(path: Path, on_bytes: OnBytes) -> Iterator[str]:
    """Decode line by line, line ends kept, so that line breaks inside quotes survive."""
    buffer = b""
    number = 0
    for block in open_blocks(path, on_bytes):
        lines = io.BytesIO(buffer + block).readlines()
        buffer = b"" if lines[-1].endswith(b"\n") else lines.pop()
        for line in lines:
            number += 1
            yield _decoded(line, path, number)
    if buffer:
        yield _decoded(buffer, path, number + 1)


def _decoded(line: bytes, path: Path, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataInvalid(
            f"not UTF-8: {error.reason}", where=f"{path}:{number}", next_step="convert the file to UTF-8"
        ) from error

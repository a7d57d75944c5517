"""Files written row by row: memory holds one row and a buffer, whatever the size."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import orjson

__all__ = ["Row", "write_csv", "write_json_array", "write_json_lines"]

Row: TypeAlias = Mapping[str, object]

_BUFFER_BYTES = 1 << 20


def write_json_array(path: Path, rows: Iterable[Row], *, key: str = "") -> int:
    """Write a JSON array, or with `key` an object that holds it under that key; return the number of rows."""
    count = 0
    with path.open("wb", buffering=_BUFFER_BYTES) as file:
        file.write(b'{"%s":[' % key.encode() if key else b"[")
        for row in rows:
            file.write(b",\n" if count else b"\n")
            file.write(orjson.dumps(row))
            count += 1
        file.write(b"\n]}\n" if key else b"\n]\n")
    return count


def write_json_lines(path: Path, rows: Iterable[Row]) -> int:
    """Write one JSON object a line; return their number."""
    count = 0
    with path.open("wb", buffering=_BUFFER_BYTES) as file:
        for row in rows:
            file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
            count += 1
    return count


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> int:
    """Write a CSV file with CRLF line ends, as RFC 4180 has it; return the number of rows."""
    count = 0
    with path.open("w", encoding="utf-8", newline="", buffering=_BUFFER_BYTES) as file:
        writer = csv.writer(file)
        writer.writerow(header)
        for row in rows:
            writer.writerow(row)
            count += 1
    return count

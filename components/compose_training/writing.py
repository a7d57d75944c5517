"""Writing the tables of data/training: rows in, Parquet out, the same bytes for the same rows however batched."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["TrainingWriter"]

_ROW_GROUP_ROWS = 1024
"""Some 10 MB of a question's 20 documents each: what a trainer that streams holds at once."""


class TrainingWriter:
    """Writes a table per file, all of them there from the start; use as a context manager."""

    def __init__(self, files: Mapping[Path, pa.Schema]) -> None:
        for path in files:
            path.parent.mkdir(parents=True, exist_ok=True)
        self._files = {path: _File(path, schema) for path, schema in files.items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files.values():
            if kind is None:
                file.close()
            else:
                # Closing may fail as well (a full disk, say), and must not hide the first error.
                with suppress(OSError, pa.ArrowException):
                    file.close()

    def write(self, path: Path, rows: pa.Table) -> None:
        """Append rows to a file; they must have its schema."""
        self._files[path].add(rows)


class _File:
    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._schema = schema
        self._waiting = schema.empty_table()
        self._file = pq.ParquetWriter(
            path, schema, compression="zstd", use_dictionary=False, write_page_checksum=True, write_statistics=True
        )

    def add(self, rows: pa.Table) -> None:
        self._waiting = pa.concat_tables([self._waiting, rows.cast(self._schema)])
        while self._waiting.num_rows >= _ROW_GROUP_ROWS:
            self._write(self._waiting.slice(0, _ROW_GROUP_ROWS))
            self._waiting = self._waiting.slice(_ROW_GROUP_ROWS)

    def close(self) -> None:
        if self._waiting.num_rows:
            self._write(self._waiting)
            self._waiting = self._schema.empty_table()
        self._file.close()

    def _write(self, rows: pa.Table) -> None:
        self._file.write_table(rows, row_group_size=rows.num_rows)

"""Writing the prepared tables: batches in, Parquet out, the same bytes for the same sequence of batches.

Encoding and compressing run in one background thread (Arrow releases the interpreter lock there), so parsing and
writing each keep a core busy. At most `_PENDING` row groups wait, so memory does not grow when the disk is slower.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from faithline.data.schema import TABLES, file_name

__all__ = ["PreparedWriter"]

_ROW_GROUP_BYTES = 16 * 2**20
"""Arrow bytes gathered before a row group is written: large enough to compress well, small enough to hold several."""
_PENDING = 2


class PreparedWriter:
    """Writes the tables of a prepared folder; use as a context manager."""

    def __init__(self, folder: Path) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="parquet")
        self._pending: deque[Future[None]] = deque()
        self._tables = {name: _TableWriter(folder / file_name(name), schema) for name, schema in TABLES.items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                for table in self._tables.values():
                    self._submit(table)
                while self._pending:
                    self._pending.popleft().result()
        finally:
            self._thread.shutdown(wait=True, cancel_futures=True)
            # After a failure (a full disk, say) closing fails as well, and must not hide the first error.
            with suppress(OSError, pa.ArrowException) if kind is not None else nullcontext():
                for table in self._tables.values():
                    table.close()

    @property
    def rows(self) -> Mapping[str, int]:
        """Rows given to each table so far."""
        return {name: table.rows for name, table in self._tables.items()}

    def write(self, table: str, rows: pa.Table) -> None:
        """Append rows to a table.

        Args:
            table: A key of `schema.TABLES`.
            rows: Exactly of that table's schema.
        """
        writer = self._tables[table]
        writer.add(rows)
        if writer.buffered_bytes >= _ROW_GROUP_BYTES:
            self._submit(writer)

    def _submit(self, table: _TableWriter) -> None:
        while len(self._pending) >= _PENDING:
            self._pending.popleft().result()
        self._pending.append(self._thread.submit(table.write, table.take_buffered()))


class _TableWriter:
    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.rows = 0
        self.buffered_bytes = 0
        self._schema = schema
        self._buffered: list[pa.Table] = []
        # No dictionaries: nearly every column is unique text, and a dictionary's fall-back point depends on sizes.
        # Checksums, so that a flipped bit is an error when a later stage reads the table, not a wrong word.
        self._file = pq.ParquetWriter(
            path, schema, compression="zstd", use_dictionary=False, write_page_checksum=True, write_statistics=True
        )

    def add(self, rows: pa.Table) -> None:
        rows = rows.cast(self._schema)
        self.rows += rows.num_rows
        self.buffered_bytes += rows.nbytes
        self._buffered.append(rows)

    def take_buffered(self) -> pa.Table:
        rows = pa.concat_tables(self._buffered) if self._buffered else self._schema.empty_table()
        self._buffered, self.buffered_bytes = [], 0
        return rows

    def write(self, rows: pa.Table) -> None:
        if rows.num_rows:
            self._file.write_table(rows, row_group_size=rows.num_rows)

    def close(self) -> None:
        self._file.close()

"""The rows of a prepared table, streamed in batches of one set and half a megabyte of text.

That is small enough for the processor's cache, and large enough that calls cost nothing beside the work.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from faithline.data.schema import file_name
from faithline.pipeline.errors import DataInvalid

__all__ = ["Batch", "in_order", "pick", "stream", "table_rows", "text_bytes"]

T = TypeVar("T")
R = TypeVar("R")

_READ_ROWS = 4096
_TEXT_BYTES = 2**19
_REBUILD = "run `dvc repro prepare_data`"


class Batch(NamedTuple):
    """Consecutive rows of one set."""

    set_name: str
    start: int
    """Row number in the table of the first one."""
    rows: pa.RecordBatch


def stream(prepared: Path, table: str, columns: Sequence[str], text: str) -> Iterator[Batch]:
    """Read a table.

    Args:
        prepared: The folder `data/prepared`.
        table: Key of `schema.TABLES`.
        columns: What to read; `set` comes with it.
        text: The column whose bytes decide where batches end.

    Raises:
        DataInvalid: If the table is missing, corrupt, or lacks a column.
    """
    done = 0
    with _opened(prepared, table) as file:
        missing = sorted({"set", *columns} - set(file.schema_arrow.names))
        if missing:
            raise DataInvalid(f"column `{missing[0]}` is missing", where=_where(prepared, table), next_step=_REBUILD)
        read = file.iter_batches(_READ_ROWS, columns=list(dict.fromkeys(["set", *columns])))
        while (rows := _next(read, prepared, table)) is not None:
            ends = _ends(rows, text)
            for start, end in zip([0, *ends], ends, strict=False):
                part = rows.slice(start, end - start)
                yield Batch(part.column("set")[0].as_py(), done + start, part)
            done += rows.num_rows


def table_rows(prepared: Path, table: str) -> int:
    """Return a table's number of rows; raises as `stream`."""
    with _opened(prepared, table) as file:
        return int(file.metadata.num_rows)


def text_bytes(prepared: Path, table: str, column: str) -> int:
    """Return the size of a column before compression; raises as `stream`."""
    with _opened(prepared, table) as file:
        groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
        chunks = [group.column(place) for group in groups for place in range(group.num_columns)]
        return sum(chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema == column)


def pick(prepared: Path, table: str, columns: Sequence[str], rows: np.ndarray) -> list[dict[str, object]]:
    """Read single rows by number, in ascending order of number; raises as `stream`."""
    wanted = np.unique(rows)
    found: list[dict[str, object]] = []
    for batch in stream(prepared, table, columns, columns[0]) if len(wanted) else ():
        low, high = np.searchsorted(wanted, [batch.start, batch.start + batch.rows.num_rows])
        if low < high:
            found.extend(batch.rows.take(pa.array(wanted[low:high] - batch.start)).to_pylist())
    return found


def in_order(pool: Executor, work: Callable[[T], R], items: Iterable[T], ahead: int) -> Iterator[tuple[T, R]]:
    """Work on items in parallel and yield them with their results in their own order, at most `ahead` waiting."""
    waiting: deque[tuple[T, Future[R]]] = deque()
    for item in items:
        waiting.append((item, pool.submit(work, item)))
        if len(waiting) > ahead:
            done, result = waiting.popleft()
            yield done, result.result()
    while waiting:
        done, result = waiting.popleft()
        yield done, result.result()


def _ends(rows: pa.RecordBatch, text: str) -> list[int]:
    """Where batches end: at another set, or once a batch has its bytes."""
    codes = np.asarray(pc.dictionary_encode(rows.column("set")).indices)
    sizes = np.asarray(pc.binary_length(rows.column(text)), dtype=np.int64)
    full = (np.cumsum(sizes) - sizes) // _TEXT_BYTES
    changes = np.flatnonzero((codes[1:] != codes[:-1]) | (full[1:] != full[:-1])) + 1
    return [*changes.tolist(), rows.num_rows]


def _next(read: Iterator[pa.RecordBatch], prepared: Path, table: str) -> pa.RecordBatch | None:
    try:
        return next(read, None)
    except (pa.ArrowException, OSError) as error:
        raise _corrupt(error, prepared, table) from error


def _opened(prepared: Path, table: str) -> pq.ParquetFile:
    try:
        # Pre-buffering would hold all column chunks of the file until it is closed.
        return pq.ParquetFile(prepared / file_name(table), pre_buffer=False, page_checksum_verification=True)
    except FileNotFoundError:
        raise DataInvalid("prepared table not found", where=_where(prepared, table), next_step=_REBUILD) from None
    except (pa.ArrowException, OSError) as error:
        raise _corrupt(error, prepared, table) from error


def _corrupt(error: Exception, prepared: Path, table: str) -> Exception:
    if isinstance(error, OSError) and error.errno is not None:
        return error  # the machine's fault (permission, disk), not the file's
    return DataInvalid(f"corrupt Parquet file: {error}", where=_where(prepared, table), next_step=_REBUILD)


def _where(prepared: Path, table: str) -> str:
    return str(prepared / file_name(table))

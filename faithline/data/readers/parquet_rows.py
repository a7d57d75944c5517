"""Rows of a Parquet file, as hubs serve them, streamed, each as a JSON object.

A null column counts as absent: Parquet has the same columns in every row. Page checksums are verified where the file
has them. What a row group unpacks to is read from the footer first, and a group beyond the limit is refused unread.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from faithline.data.readers.json_rows import OnBytes, RawRow
from faithline.pipeline.errors import DataInvalid

__all__ = ["MAGIC", "parquet_rows"]

MAGIC = b"PAR1"
_BATCH_ROWS = 256
_MAX_GROUP_BYTES = 2 * 2**30
"""Unpacked size of one row group; publishers write a few hundred megabytes at most."""


def parquet_rows(path: Path, on_bytes: OnBytes) -> Iterator[RawRow]:
    """Stream the rows of a file.

    Raises:
        DataInvalid: If the file is corrupt or cut off, or a row group is absurdly large.
    """
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            yield from _rows(path, file, on_bytes)
    except MemoryError:
        raise
    except (pa.ArrowException, ValueError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the machine's fault (permission, disk), not the file's
        raise DataInvalid(
            f"corrupt Parquet file: {error}", where=str(path), next_step="repair the file or fetch it again"
        ) from error


def _rows(path: Path, file: pq.ParquetFile, on_bytes: OnBytes) -> Iterator[RawRow]:
    index = 0
    told = 0
    for group in range(file.num_row_groups):
        columns = [file.metadata.row_group(group).column(number) for number in range(file.metadata.num_columns)]
        unpacked = sum(column.total_uncompressed_size for column in columns)
        if unpacked > _MAX_GROUP_BYTES:
            raise DataInvalid(
                f"row group {group} unpacks to {unpacked // 2**20} MiB, {_MAX_GROUP_BYTES // 2**20} MiB is allowed",
                where=str(path),
                next_step="if the file can be trusted, write it anew with smaller row groups",
            )
        for batch in file.iter_batches(_BATCH_ROWS, row_groups=[group]):
            batch.validate(full=True)
            for row in batch.to_pylist():
                present = {name: value for name, value in row.items() if value is not None}
                yield RawRow(f"{path}[{index}]", msgspec.json.encode(present), in_array=False)
                index += 1
        packed = sum(column.total_compressed_size for column in columns)
        on_bytes(packed)
        told += packed
    on_bytes(path.stat().st_size - told)

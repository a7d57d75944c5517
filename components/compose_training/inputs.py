"""The prepared tables that the stage streams, checked before the first row is read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from faithline.data.schema import TABLES, file_name
from faithline.pipeline.errors import DataInvalid

__all__ = ["check_inputs"]

_READ = ("questions", "documents", "claims")
_REBUILD = "run `dvc repro prepare_data`"


def check_inputs(prepared: Path) -> None:
    """Check that each table is there and has its schema.

    Args:
        prepared: The folder data/prepared.

    Raises:
        DataInvalid: If a table is missing or no Parquet, or a column is missing or of another type.
    """
    for table in _READ:
        path = prepared / file_name(table)
        try:
            found = pq.read_schema(path)
        except FileNotFoundError:
            raise DataInvalid("prepared table not found", where=str(path), next_step=_REBUILD) from None
        except pa.ArrowInvalid as error:
            raise DataInvalid(f"corrupt Parquet file: {error}", where=str(path), next_step=_REBUILD) from error
        for field in TABLES[table]:
            if field.name not in found.names:
                raise DataInvalid(f"column `{field.name}` is missing", where=str(path), next_step=_REBUILD)
            kind = found.field(field.name).type
            if kind != field.type:
                raise DataInvalid(
                    f"column `{field.name}` is {kind}, expected {field.type}", where=str(path), next_step=_REBUILD
                )

"""Reading the prepared tables: what every later stage uses to get questions, documents, claims and responses.

A table is checked before it is handed out: it must exist, be Parquet, have the schema of `faithline.data.schema`
column by column, and hold at least one row for what was asked. Otherwise the reader is told which file and column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from faithline.data.schema import TABLES, Split, file_name
from faithline.pipeline.errors import DataInvalid

__all__ = ["Document", "Documents", "claims", "documents", "judgements", "questions", "read_table", "responses"]

_REBUILD = "run `dvc repro prepare_data`"


def questions(
    prepared: Path,
    split: Split | None = None,
    sets: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
) -> pa.Table:
    """Read the questions of some splits and sets, in the order of the source files.

    Args:
        prepared: The folder `data/prepared`.
        split: Only this split; None = all.
        sets: Only these sets; None = all.
        columns: Only these columns; None = all.

    Raises:
        DataInvalid: If the table is missing, corrupt or of another schema, or if nothing matches.
    """
    return read_table(prepared, "questions", split=split, sets=sets, columns=columns)


def claims(prepared: Path, split: Split | None = None, sets: Sequence[str] | None = None) -> pa.Table:
    """Read true and false reference answers; as `questions`."""
    return read_table(prepared, "claims", split=split, sets=sets)


def responses(prepared: Path, split: Split | None = None, sets: Sequence[str] | None = None) -> pa.Table:
    """Read model responses with hallucination spans; as `questions`."""
    return read_table(prepared, "responses", split=split, sets=sets)


def judgements(prepared: Path, split: Split | None = None, sets: Sequence[str] | None = None) -> pa.Table:
    """Read pairs of responses of which one is preferred; as `questions`."""
    return read_table(prepared, "judgements", split=split, sets=sets)


def documents(prepared: Path, sets: Sequence[str] | None = None) -> Documents:
    """Read all documents of some sets for look-up by id.

    Raises:
        DataInvalid: If the table is missing, corrupt or of another schema, or has no row for these sets.
    """
    return Documents(read_table(prepared, "documents", sets=sets), prepared / file_name("documents"))


def read_table(
    prepared: Path,
    table: str,
    *,
    split: Split | None = None,
    sets: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
) -> pa.Table:
    """Read one table, checked; see `questions`."""
    path = prepared / file_name(table)
    wanted = {"split": None if split is None else [split], "set": sets}
    filters = [(column, "in", list(values)) for column, values in wanted.items() if values is not None]
    try:
        _check_schema(path, TABLES[table])
        rows = pq.read_table(
            path,
            columns=list(columns) if columns is not None else None,
            filters=filters or None,
            page_checksum_verification=True,
        )
    except FileNotFoundError:
        raise DataInvalid("prepared table not found", where=str(path), next_step=_REBUILD) from None
    except (pa.ArrowInvalid, pa.ArrowTypeError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the machine's fault (permission, disk), not the file's
        raise DataInvalid(f"corrupt Parquet file: {error}", where=str(path), next_step=_REBUILD) from error
    if rows.num_rows == 0:
        raise DataInvalid(
            f"no rows in `{table}`{_wanted(split, sets)}",
            where=str(path),
            next_step="check prepare_data.sources and their shares in params.yaml, then " + _REBUILD,
        )
    return rows


def _wanted(split: Split | None, sets: Sequence[str] | None) -> str:
    parts = ([f"split {split}"] if split else []) + ([f"set {', '.join(sets)}"] if sets is not None else [])
    return f" for {' and '.join(parts)}" if parts else ""


def _check_schema(path: Path, schema: pa.Schema) -> None:
    found = pq.read_schema(path)
    for field in schema:
        if field.name not in found.names:
            raise DataInvalid(f"column `{field.name}` is missing", where=str(path), next_step=_REBUILD)
        kind = found.field(field.name).type
        if kind != field.type:
            raise DataInvalid(
                f"column `{field.name}` is {kind}, expected {field.type}", where=str(path), next_step=_REBUILD
            )


class Document(NamedTuple):
    """One document."""

    document_id: str
    title: str
    text: str


class Documents(Mapping[str, Document]):
    """All documents by id: a mapping for single look-ups, `take` and `positions` for many at once."""

    def __init__(self, table: pa.Table, path: Path) -> None:
        self.table = table
        """Columns document_id, set, title, text, in the order of first appearance."""
        self._path = path

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __getitem__(self, document_id: str) -> Document:
        row = self._rows[document_id]
        title, text = (self.table.column(name)[row].as_py() for name in ("title", "text"))
        return Document(document_id, title, text)

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {key: row for row, key in enumerate(self.table.column("document_id").to_pylist())}

    def positions(self, ids: pa.Array | pa.ChunkedArray | Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the row of each id in `table`, shape (len(ids),).

        Raises:
            DataInvalid: If an id is not there, naming it.
        """
        wanted = ids if isinstance(ids, pa.Array | pa.ChunkedArray) else pa.array(ids, pa.string())
        rows = pc.index_in(wanted, value_set=self.table.column("document_id"))
        if rows.null_count:
            missing = wanted.filter(pc.is_null(rows))
            raise DataInvalid(
                f"{len(missing)} document ids are not in the table, the first is {missing[0]}",
                where=str(self._path),
                next_step=_REBUILD,
            )
        return np.asarray(rows, dtype=np.int64)

    def take(self, ids: pa.Array | pa.ChunkedArray | Sequence[str]) -> pa.Table:
        """Return the documents with these ids, in this order, repeats repeated."""
        return self.table.take(pa.array(self.positions(ids)))

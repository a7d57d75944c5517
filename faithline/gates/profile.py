"""Measuring prepared tables in one streaming pass, set by set.

Great Expectations evaluates frames in memory, at about 10 ms per expectation and batch, and cannot look into lists. So
the rows are reduced here, by pyarrow, to a small frame of measures per set (counts of violations, extremes, shares),
and the expectations judge that frame: a gigabyte of data costs one read and some 30 bytes per row (the digests that
uniqueness needs).

The layout (do the columns exist, are they of their type, does the table have rows) is read from the Parquet footers
first, for nothing can be measured on columns that are not there. Nulls are counted next; rows with a null in a required
column take no further part.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from faithline.data.schema import TABLES, file_name
from faithline.gates.fingerprint import Fingerprint
from faithline.gates.row_digests import DocumentKeys
from faithline.gates.row_measures import ROWS, Seen
from faithline.gates.table_measures import MEASURES, Slice
from faithline.gates.tally import Measured, Profile, Tally
from faithline.pipeline.errors import DataInvalid

__all__ = [
    "ID_COLUMNS",
    "NULLABLE_ITEMS",
    "NULLS",
    "NULL_ITEMS",
    "TYPE",
    "UNKNOWN_SETS",
    "Declared",
    "SetProfile",
    "TablesProfile",
    "layout",
    "measure",
]

Declared = Mapping[str, Mapping[str, int | None]]
"""Set to table to the number of rows its reader kept; None where that is not known."""

TYPE = "type"
NULLS = "null values"
NULL_ITEMS = "lists with a null item"
UNKNOWN_SETS = "rows of unknown sets"
ID_COLUMNS = {
    "questions": "question_id",
    "documents": "document_id",
    "claims": "claim_id",
    "responses": "response_id",
    "judgements": "judgement_id",
}
NULLABLE_ITEMS = frozenset({"supporting"})
"""Lists whose items may be null: a flag may be unknown."""
_BATCH_ROWS = 16384


@dataclass(frozen=True)
class SetProfile:
    """What was measured on one set."""

    profile: Profile
    distributions: Mapping[str, Mapping[str, int]]
    fingerprints: Mapping[str, str]
    """Table to a digest of its rows, whatever their order."""


@dataclass(frozen=True)
class TablesProfile:
    """What was measured on all tables."""

    values: Profile
    """Nulls and unknown sets, per column."""
    sets: Mapping[str, SetProfile]


def layout(prepared: Path) -> Profile:
    """Read which columns the tables have, of which type, and how many rows.

    Raises:
        DataInvalid: If a file is not there or not Parquet.
    """
    columns = {}
    for table in TABLES:
        with _opened(prepared / file_name(table)) as file:
            for field in file.schema_arrow:
                columns[f"{table}.{field.name}"] = {
                    TYPE: Measured(_type_name(table, field)),
                    ROWS: Measured(file.metadata.num_rows),
                }
    return columns


def _type_name(table: str, field: pa.Field) -> str:
    """Name a column's type as the schema does where it is the same: Parquet calls list items differently."""
    index = TABLES[table].get_field_index(field.name)
    same = index >= 0 and TABLES[table].field(index).type == field.type
    return str(TABLES[table].field(index).type if same else field.type)


def measure(prepared: Path, declared: Declared, buckets: int) -> TablesProfile:
    """Measure tables whose layout is sound.

    Args:
        prepared: The folder `data/prepared`.
        declared: The sets and tables that should be there; other rows count as unknown.
        buckets: Buckets that words are hashed into.

    Raises:
        DataInvalid: If a file is corrupt, or its layout is not sound after all.
    """
    values = Tally()
    sets = {name: Tally() for name in declared}
    prints = {name: {table: Fingerprint() for table in tables} for name, tables in declared.items()}
    documents = DocumentKeys()
    for table, measure_slice in MEASURES.items():
        known = [name for name, tables in declared.items() if table in tables]
        for name in known:
            sets[name].add(f"{table}.{ID_COLUMNS[table]}", ROWS, 0)
        seen: defaultdict[str, Seen] = defaultdict(Seen)
        for name, rows in _slices(prepared, table, known, values):
            measure_slice(sets[name], Slice(rows, name, seen[name], documents, buckets))
            prints[name][table].add(table, rows)
    return TablesProfile(
        values.profile(),
        {
            name: SetProfile(
                tally.profile(),
                tally.top_categories(),
                {table: print_.hexadecimal() for table, print_ in prints[name].items()},
            )
            for name, tally in sets.items()
        },
    )


def _slices(prepared: Path, table: str, known: list[str], values: Tally) -> Iterator[tuple[str, pa.Table]]:
    """Yield the rows of each known set, batch by batch; count nulls and rows of other sets."""
    set_column = f"{table}.set"
    values.add(set_column, UNKNOWN_SETS, 0)
    for field in TABLES[table]:
        for kind in (NULLS, NULL_ITEMS):
            values.add(f"{table}.{field.name}", kind, 0)
    first = 0
    for rows in _batches(prepared / file_name(table), table):
        names = pc.fill_null(rows["set"], "")
        foreign = pc.invert(pc.is_in(names, pa.array(known, pa.string())))
        values.violations(set_column, UNKNOWN_SETS, foreign, rows["set"])
        complete = _complete(rows, table, first, values)
        first += len(rows)
        for name in known:
            mine = pc.and_(complete, pc.equal(names, name))
            if pc.any(mine).as_py():
                yield name, rows if pc.all(mine).as_py() else rows.filter(mine)


def _complete(rows: pa.Table, table: str, first: int, values: Tally) -> pa.Array:
    """Count nulls where the schema allows none; say which rows are free of them."""
    complete = pa.array(np.ones(len(rows), dtype=np.bool_))
    for field in TABLES[table]:
        column = rows[field.name].combine_chunks()
        nulls = {} if field.nullable else {NULLS: pc.is_null(column)}
        if pa.types.is_list(field.type) and field.name not in NULLABLE_ITEMS:
            nulls[NULL_ITEMS] = _with_null_item(column)
        for measure, wrong in nulls.items():
            if pc.any(wrong).as_py():
                where = pa.array([f"row {first + row}" for row in range(len(rows))])
                values.violations(f"{table}.{field.name}", measure, wrong, where)
                complete = pc.and_(complete, pc.invert(wrong))
    return complete


def _with_null_item(lists: pa.ListArray) -> pa.Array:
    """Say which lists hold a null, or a struct with a null field."""
    items = pc.list_flatten(lists)
    wrong = pc.is_null(items)
    if pa.types.is_struct(items.type):
        for field in items.flatten():
            wrong = pc.or_(wrong, pc.is_null(field))
    owners = np.asarray(pc.list_parent_indices(lists))[np.asarray(wrong, dtype=np.bool_)]
    return pa.array(np.bincount(owners, minlength=len(lists)) > 0)


def _batches(path: Path, table: str) -> Iterator[pa.Table]:
    with _opened(path) as file:
        for field in TABLES[table]:
            if field.name not in file.schema_arrow.names or file.schema_arrow.field(field.name).type != field.type:
                raise DataInvalid(f"column `{field.name}` is missing or not {field.type}", where=str(path))
        # Group by group: one iterator over all of them keeps every page it has read (pyarrow 26: 318 MiB of 320 MB).
        for group in range(file.num_row_groups):
            for batch in file.iter_batches(_BATCH_ROWS, row_groups=[group], columns=TABLES[table].names):
                yield pa.Table.from_batches([batch])


@contextmanager
def _opened(path: Path) -> Iterator[pq.ParquetFile]:
    rebuild = "run `dvc repro prepare_data`"
    try:
        with pq.ParquetFile(path, pre_buffer=False, page_checksum_verification=True) as file:
            yield file
    except FileNotFoundError:
        raise DataInvalid("prepared table not found", where=str(path), next_step=rebuild) from None
    except (pa.ArrowInvalid, pa.ArrowTypeError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the machine's fault (permission, disk), not the file's
        raise DataInvalid(f"corrupt Parquet file: {error}", where=str(path), next_step=rebuild) from error

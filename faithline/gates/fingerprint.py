"""A digest of rows that does not depend on their order: the sum of the rows' digests.

It answers one question, "are these the rows that were accepted?", so every column of the schema that a later stage
reads enters it. A document's text enters by its id, which is a digest of it.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from faithline.data.schema import TABLES
from faithline.gates.row_digests import digests

__all__ = ["Fingerprint"]

_ITEM, _FIELD = (pa.scalar(mark, pa.large_string()) for mark in "\x1e\x1f")
"""ASCII's own separators of records and units."""
_NULL = "\x1a"
_TEXT_BY_ID = frozenset({"title", "text"})


class Fingerprint:
    """Running digest of a table's rows."""

    def __init__(self) -> None:
        self._sum = np.zeros(2, dtype=np.uint64)

    def add(self, table: str, rows: pa.Table) -> None:
        """Add rows of a table of the schema."""
        names = [name for name in TABLES[table].names if table != "documents" or name not in _TEXT_BY_ID]
        texts = [_as_text(rows[name].combine_chunks()) for name in names]
        whole = pc.binary_join_element_wise(*texts, _FIELD)
        self._sum += digests(whole).sum(axis=0, dtype=np.uint64)

    def hexadecimal(self) -> str:
        """Return the digest so far, 32 hex digits."""
        return self._sum.astype(">u8").tobytes().hex()


def _as_text(values: pa.Array) -> pa.Array:
    """Write each value as text, lists item by item."""
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks)
    if pa.types.is_list(values.type):
        items, lengths = _as_text(pc.list_flatten(values)), pc.list_value_length(values)
        offsets = np.concatenate([[0], np.cumsum(np.asarray(lengths))]).astype(np.int64)
        joined = pc.binary_join(pa.LargeListArray.from_arrays(pa.array(offsets), items), _ITEM)
        return pc.binary_join_element_wise(lengths.cast(pa.large_string()), joined, _ITEM)
    if pa.types.is_struct(values.type):
        return pc.binary_join_element_wise(*(_as_text(field) for field in values.flatten()), _FIELD)
    return pc.fill_null(values.cast(pa.large_string()), _NULL)

"""The texts of the documents that training rows show, by id, without holding them in memory.

First the wanted ids are gathered, then one pass over the documents table copies the wanted texts into a scratch file,
in the table's order, which is that of their first use. Some 40 bytes a wanted document stay in memory. A batch of
questions is then served by reading single stretches: the documents that come up in it first lie side by side. A memory
map would do it in one line, but the pages it has touched count as memory of the process until it ends.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from components.compose_training.hashes import find
from faithline.data.schema import file_name
from faithline.noise.stream import stream
from faithline.noise.text.hashing import Words, hash_strings, string_bytes
from faithline.pipeline.errors import DataInvalid
from faithline.training_sets.schema import DOCUMENT

__all__ = ["DocumentTexts"]

Ints = npt.NDArray[np.int64]
_COLUMNS = ("document_id", "title", "text")


class DocumentTexts:
    """Titles and texts by document id; use as a context manager."""

    def __init__(self, prepared: Path, wanted: Words, scratch: Path) -> None:
        """Copy the wanted texts.

        Args:
            prepared: The folder data/prepared.
            wanted: `hash_strings` of the wanted ids, ascending, without repeats.
            scratch: The scratch file to make.

        Raises:
            DataInvalid: If the documents table is missing or corrupt.
        """
        self._path = prepared / file_name("documents")
        hashes, lengths = [np.zeros(0, dtype=np.uint64)], [np.zeros((0, 2), dtype=np.int64)]
        with scratch.open("wb") as file:
            for batch in stream(prepared, "documents", _COLUMNS, "text"):
                _, known = find(hash_strings(batch.rows.column("document_id")), wanted)
                kept = batch.rows.filter(pa.array(known))
                hashes.append(hash_strings(kept.column("document_id")))
                lengths.append(_write(file, kept))
        sizes = np.concatenate(lengths)
        ends = np.cumsum(sizes.sum(axis=1))
        unsorted = np.concatenate(hashes)
        order = np.argsort(unsorted, kind="stable")
        self._keys, self._places = unsorted[order], order
        self._starts, self._sizes = ends - sizes.sum(axis=1), sizes
        self._file = scratch.open("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def take(self, ids: pa.Array) -> pa.StructArray:
        """Return the documents with these ids, as `DOCUMENT`, in this order, repeats repeated.

        Raises:
            DataInvalid: If an id is not in the documents table, naming it.
        """
        rows, back = np.unique(self._rows(ids), return_inverse=True)
        texts = self._read(rows)
        titles, bodies = (texts.take(pa.array(2 * back.reshape(-1) + part)) for part in (0, 1))
        return pa.StructArray.from_arrays([ids, titles, bodies], fields=list(DOCUMENT))

    def _rows(self, ids: pa.Array) -> Ints:
        places, known = find(hash_strings(ids), self._keys)
        if not known.all():
            first = int(np.flatnonzero(~known)[0])
            raise DataInvalid(
                f"{int((~known).sum())} document ids are not in the table, the first is {ids[first]}",
                where=str(self._path),
                next_step="run `dvc repro prepare_data`",
            )
        found: Ints = self._places[places]
        return found

    def _read(self, rows: Ints) -> pa.Array:
        """Read title and text of some rows (ascending, no repeats): 2 n strings."""
        lengths = self._sizes[rows].reshape(-1)
        breaks = np.flatnonzero(rows[1:] != rows[:-1] + 1) + 1
        data = b"".join(
            os.pread(self._file.fileno(), int(self._sizes[run].sum()), int(self._starts[run[0]]))
            for run in np.split(rows, breaks)
            if len(run)
        )
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        strings = pa.LargeStringArray.from_buffers(len(lengths), pa.py_buffer(offsets), pa.py_buffer(data))
        return strings.cast(pa.string())


def _write(file: BinaryIO, rows: pa.RecordBatch) -> Ints:
    """Append title and text of each row, one after the other; return their lengths in bytes, shape (n, 2)."""
    both = pa.concat_arrays([rows.column("title"), rows.column("text")])
    data, offsets = string_bytes(both.take(pa.array(np.arange(len(both)).reshape(2, -1).T.reshape(-1))))
    file.write(data.data)
    return np.diff(offsets).reshape(-1, 2)

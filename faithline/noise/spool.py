"""Scratch files for what is needed again but too large to keep: rows of numbers, written once, read in parts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Spool"]

_BLOCK_ROWS = 1 << 11


class Spool:
    """An append-only file of rows; the folder it lies in removes it."""

    def __init__(self, path: Path, dtype: npt.DTypeLike, width: int = 1) -> None:
        self.rows = 0
        self.width = width
        self._path = path
        self._dtype = np.dtype(dtype)
        self._file = path.open("wb")

    @property
    def row_bytes(self) -> int:
        """Size of a row."""
        return self.width * self._dtype.itemsize

    def append(self, rows: npt.NDArray[Any]) -> None:
        """Append rows, shape (n, width) or (n,) for width 1."""
        self._file.write(np.ascontiguousarray(rows, dtype=self._dtype).data)
        self.rows += len(rows)

    def close(self) -> None:
        """End writing; reading may start."""
        self._file.close()

    def part(self, start: int, count: int) -> npt.NDArray[Any]:
        """Read consecutive rows, shape (n, width), n = what there is of `count`."""
        found = np.fromfile(self._path, self._dtype, count * self.width, offset=start * self.row_bytes)
        return found.reshape(-1, self.width)

    def parts(self, count: int) -> Iterator[npt.NDArray[Any]]:
        """Read all rows, `count` at a time."""
        for start in range(0, self.rows, count):
            yield self.part(start, count)

    def take(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Read single rows, shape (n, width): block by block, leaving out blocks without any.

        A memory map would do it in one line, but the system maps 16 pages around every one touched: 64 MB for 1,000
        rows.
        """
        found = np.empty((len(rows), self.width), dtype=self._dtype)
        order = np.argsort(rows, kind="stable")
        blocks, starts = np.unique(rows[order] // _BLOCK_ROWS, return_index=True)
        for block, places in zip(blocks.tolist(), np.split(order, starts[1:]), strict=bool(len(rows))):
            start = block * _BLOCK_ROWS
            found[places] = self.part(start, _BLOCK_ROWS)[rows[places] - start]
        return found

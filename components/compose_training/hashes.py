"""Looking 64-bit hashes up in a sorted array of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from faithline.noise.text.hashing import Words

__all__ = ["find"]


def find(keys: Words, table: Words) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Look keys up.

    Args:
        keys: What to look up, shape (n,).
        table: Ascending, shape (m,).

    Returns:
        places: Index in `table` of each key; of no meaning where it is not there; shape (n,).
        known: Whether it is there, shape (n,).
    """
    if not len(table):
        return np.zeros(len(keys), dtype=np.int64), np.zeros(len(keys), dtype=np.bool_)
    places = np.minimum(np.searchsorted(table, keys), len(table) - 1)
    return places, table[places] == keys

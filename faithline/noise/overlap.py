"""Which items of evaluation data share a key (a whole text, a run of tokens) with items of training data.

An item is a question, a document or a long answer. Training membership is a 64-bit mask, one bit per set, so one look
at a group of equal keys tells for every item of the group which sets' training data it met.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from faithline.noise.groups import repeated
from faithline.noise.spool import Spool
from faithline.noise.text.hashing import Words

__all__ = ["TOKEN_BYTES", "TRAIN", "GramSpool", "Items", "equal_keys", "window_for"]

Ints = npt.NDArray[np.int64]

TRAIN = np.uint8(1)
"""Bit of the split train in a mask of splits; the others are evaluation."""
_GRAM_BYTES = 40
"""Memory per hash while a part of the file is resolved."""
TOKEN_BYTES = 6
"""Bytes of English text per token, space included; only to foresee how many hashes there will be."""


@dataclass(frozen=True)
class Items:
    """What is compared."""

    sets: npt.NDArray[np.uint8]
    """Set of each item, shape (n,)."""
    splits: npt.NDArray[np.uint8]
    """Splits it belongs to, a mask, shape (n,)."""

    def training(self, rows: npt.NDArray[np.integer]) -> Words:
        """Return the bit of its set for each of these items that belongs to training data, else 0."""
        bits = np.uint64(1) << self.sets[rows].astype(np.uint64)
        return np.where(self.splits[rows] & TRAIN, bits, np.uint64(0))

    @cached_property
    def evaluation(self) -> npt.NDArray[np.bool_]:
        """Whether an item belongs to evaluation data, shape (n,)."""
        return np.asarray((self.splits & ~TRAIN) != 0)


def equal_keys(items: Items, keys: Words) -> Words:
    """Return for each evaluation item the sets whose training data hold an equal key, a mask, shape (n,)."""
    met = np.zeros(len(keys), dtype=np.uint64)
    mine = np.flatnonzero(items.evaluation)
    met[mine] = items.training(mine)  # an item of both is equal to itself
    _meet(items, keys, None, met)
    return met


def window_for(text_bytes: int, most: int) -> int:
    """Return the window (see `ngrams.grams_of`) that leaves about `most` hashes of a text of this size."""
    expected = text_bytes / TOKEN_BYTES
    # A window of w keeps 2 / (w + 1) of all hashes.
    return 1 if expected <= most else max(2, int(np.ceil(2 * expected / most)) - 1)


class GramSpool:
    """Hashes of token runs in scratch files, parted by hash so that a part fits in memory."""

    def __init__(self, folder: Path, name: str, expected: int, sort_bytes: int) -> None:
        self._parts = 1 << max(0, (expected * _GRAM_BYTES // sort_bytes).bit_length())
        self._hashes = [Spool(folder / f"{name}.{part}.hashes", np.uint64) for part in range(self._parts)]
        self._items = [Spool(folder / f"{name}.{part}.items", np.uint32) for part in range(self._parts)]

    @property
    def rows(self) -> int:
        """Hashes so far."""
        return sum(spool.rows for spool in self._hashes)

    def add(self, hashes: Words, items: Ints) -> None:
        """Add hashes and the item of each."""
        if self._parts > 1:
            parts = (hashes & np.uint64(self._parts - 1)).astype(np.uint16)
            order = np.argsort(parts, kind="stable")
            hashes, items = hashes[order], items[order]
            ends = np.cumsum(np.bincount(parts, minlength=self._parts)).tolist()
        else:
            ends = [len(hashes)]
        for part, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
            self._hashes[part].append(hashes[start:end])
            self._items[part].append(items[start:end])

    def shared(self, items: Items, met: Words) -> Words:
        """Return for each evaluation item the sets whose training data share a hash, added to those in `met`."""
        met = met.copy()
        for hashes, owners in zip(self._hashes, self._items, strict=True):
            hashes.close()
            owners.close()
            _meet(items, hashes.part(0, hashes.rows)[:, 0], owners.part(0, owners.rows)[:, 0], met)
        return met


def _meet(items: Items, keys: Words, owners: npt.NDArray[np.integer] | None, met: Words) -> None:
    groups = repeated(keys)
    if not len(groups.rows):
        return
    members = groups.rows if owners is None else owners[groups.rows]
    seen = np.bitwise_or.reduceat(items.training(members), groups.starts)[groups.owners()]
    hit = items.evaluation[members] & (seen != 0)
    np.bitwise_or.at(met, members[hit], seen[hit])

"""Which questions go where: of each set and split the ones with the smallest hashes, up to a limit.

A hash depends on the draw seed and the question's id alone, and is the same for every destination. So a draw depends
neither on the order of the data nor on other sets, a larger limit keeps what a smaller one took, new questions only
displace those behind them, and the roles share most of their questions. Drawing needs one pass that keeps `limit`
hashes per set and split; what was drawn is then told by comparing with the largest of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from faithline.noise.text.hashing import Words, hash_strings, mix

__all__ = ["Destination", "Draws", "Flags", "Smallest", "draw_keys"]

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Destination:
    """Where questions may go."""

    name: str
    """Unique among the destinations."""
    sets: Collection[str] | None
    """Sets to take from; None = all."""
    limits: Mapping[str, int | None]
    """Split to most questions per set; None = all. Other splits are not taken."""
    eligible: Callable[[pa.RecordBatch], Flags]
    """Which rows of the questions table can be used, shape (n,)."""


class Smallest:
    """The n smallest numbers of a stream."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._kept = np.zeros(0, dtype=np.uint64)

    def add(self, keys: Words) -> None:
        """Take note of numbers, shape (n,)."""
        if self._limit is None or not len(keys):
            return
        kept = np.concatenate([self._kept, keys])
        if len(kept) > self._limit:
            kept = np.partition(kept, self._limit - 1)[: self._limit]
        self._kept = kept

    def among(self, keys: Words) -> Flags:
        """Say which of these numbers, all of them added before, are among the n smallest; shape (n,)."""
        if self._limit is None:
            return np.ones(len(keys), dtype=np.bool_)
        if not len(self._kept):
            return np.zeros(len(keys), dtype=np.bool_)
        smallest: Flags = keys <= self._kept.max()
        return smallest


class Draws:
    """The draws of all destinations."""

    def __init__(self, destinations: Collection[Destination]) -> None:
        self._destinations = destinations
        self._smallest: dict[tuple[str, str, str], Smallest] = {}

    def offer(self, set_name: str, rows: pa.RecordBatch, keys: Words) -> None:
        """Let every destination take note of some questions.

        Args:
            set_name: The set of all of them.
            rows: Of the questions table, all columns.
            keys: As `draw_keys` returns them, shape (n,).
        """
        for destination in self._destinations:
            for split, flags in _usable(destination, set_name, rows).items():
                self._of(destination, set_name, split).add(keys[flags])

    def drawn(self, destination: Destination, set_name: str, rows: pa.RecordBatch, keys: Words) -> dict[str, Flags]:
        """Say by split which of some questions offered before were drawn, each of shape (n,)."""
        return {
            split: flags & self._of(destination, set_name, split).among(keys)
            for split, flags in _usable(destination, set_name, rows).items()
        }

    def _of(self, destination: Destination, set_name: str, split: str) -> Smallest:
        place = (destination.name, set_name, split)
        return self._smallest.setdefault(place, Smallest(destination.limits[split]))


def draw_keys(ids: pa.Array, seed: int) -> Words:
    """Return the hash of each question under a seed, shape (n,)."""
    return mix(hash_strings(ids) + mix(np.array([seed % (1 << 64)], dtype=np.uint64)))


def _usable(destination: Destination, set_name: str, rows: pa.RecordBatch) -> dict[str, Flags]:
    if not rows.num_rows or (destination.sets is not None and set_name not in destination.sets):
        return {}
    eligible = destination.eligible(rows)
    return {
        split: eligible & np.asarray(pc.equal(rows.column("split"), split), dtype=np.bool_)
        for split in destination.limits
    }

"""Near-duplicate documents of one set: MinHash signatures wait in a scratch file, bands find the candidates.

Four neighbouring values of a signature are a band; two documents with an equal band are candidates, and the share of
equal values of their signatures decides. Each document is compared with the first and the nearest earlier document of
its band, so one that is flagged nearly equals an earlier one, and which documents are flagged depends on their order
only where similarity is not transitive. Keys of a few bands at a time are sorted in memory, as `sort_mib` allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from faithline.noise.groups import repeated
from faithline.noise.spool import Spool
from faithline.noise.text.hashing import Words
from faithline.noise.text.minhash import BAND_VALUES, Signatures, estimates

__all__ = ["Duplicates", "NearDuplicateFinder"]

Ints = npt.NDArray[np.int64]
_Pairs = tuple[Ints, Ints, npt.NDArray[np.float64]]

_KEY_BYTES = 40
"""Memory per key while it is sorted and looked at."""
_READ_ROWS = 1 << 15
_PAIRS = 1 << 15
"""Pairs gathered before they are verified in one pass over the file; more at once only if one band has more."""


class Duplicates(NamedTuple):
    """Documents that nearly equal an earlier one, ascending."""

    rows: Ints
    earlier: Ints
    """A document that each nearly equals."""
    jaccard: npt.NDArray[np.float64]
    """The estimated similarity."""


class NearDuplicateFinder:
    """Gathers signatures, then finds the near-duplicates among them."""

    def __init__(self, folder: Path, name: str, permutations: int, min_jaccard: float, sort_bytes: int) -> None:
        self._signatures = Spool(folder / f"{name}.signatures", np.uint16, permutations)
        self._rows = Spool(folder / f"{name}.rows", np.uint32)
        self._bands = permutations // BAND_VALUES
        self._min_jaccard = min_jaccard
        self._sort_bytes = sort_bytes
        self._flagged = np.zeros(0, dtype=np.bool_)

    def add(self, signatures: Signatures, rows: Ints) -> None:
        """Add documents: signatures, shape (n, permutations), and their row numbers, ascending."""
        self._signatures.append(signatures)
        self._rows.append(rows)

    def find(self) -> Duplicates:
        """Return the near-duplicates; call once, at the end."""
        self._signatures.close()
        self._rows.close()
        self._flagged = np.zeros(self._signatures.rows, dtype=np.bool_)
        found: list[_Pairs] = []
        waiting: list[tuple[Ints, Ints]] = []
        for keys, places in self._keys():
            waiting.append(_candidates(keys, places, self._flagged))
            if sum(len(later) for later, _ in waiting) >= _PAIRS:
                found.append(self._verified(waiting))
                waiting = []
        found.append(self._verified(waiting))
        later, earlier, similar = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = np.argsort(later, kind="stable")
        rows = self._rows.part(0, self._rows.rows)[:, 0].astype(np.int64)
        return Duplicates(rows[later[order]], rows[earlier[order]], similar[order])

    def _verified(self, candidates: list[tuple[Ints, Ints]]) -> _Pairs:
        """Estimate pairs of places in the file; flag and return each later one with its most similar partner."""
        none = np.zeros(0, dtype=np.int64)
        later, earlier = (np.concatenate([none, *side]) for side in zip((none, none), *candidates, strict=True))
        similar = self._estimates(later, earlier)
        near = np.flatnonzero((similar >= self._min_jaccard) & ~self._flagged[later])
        best = near[np.lexsort((earlier[near], -similar[near], later[near]))]
        best = best[np.unique(later[best], return_index=True)[1]]
        self._flagged[later[best]] = True
        return later[best], earlier[best], similar[best]

    def _keys(self) -> Iterator[tuple[Words, Ints | None]]:
        """Yield the keys of one band, or of a part of it, and their places in the file (None: all, in order)."""
        size = max(1, self._signatures.rows * _KEY_BYTES)
        at_once, parts = max(1, self._sort_bytes // size), -(-size // self._sort_bytes)
        for start in range(0, self._bands, at_once):
            bands = range(start, min(start + at_once, self._bands))
            for part in range(parts):
                yield from self._read(bands, part, parts)

    def _read(self, bands: range, part: int, parts: int) -> Iterator[tuple[Words, Ints | None]]:
        if parts == 1:
            columns = np.empty((len(bands), self._signatures.rows), dtype=np.uint64)
            for index, rows in enumerate(self._signatures.parts(_READ_ROWS)):
                start = index * _READ_ROWS
                columns[:, start : start + len(rows)] = rows.view(np.uint64)[:, bands.start : bands.stop].T
            yield from ((column, None) for column in columns)
            return
        for band in bands:
            keys, places = [], []
            for index, rows in enumerate(self._signatures.parts(_READ_ROWS)):
                column = rows.view(np.uint64)[:, band]
                mine = np.flatnonzero(column % np.uint64(parts) == part)
                keys.append(column[mine])
                places.append(mine + index * _READ_ROWS)
            yield np.concatenate(keys), np.concatenate(places)

    def _estimates(self, later: Ints, earlier: Ints) -> npt.NDArray[np.float64]:
        parts = [
            estimates(self._signatures.take(later[at : at + _PAIRS]), self._signatures.take(earlier[at : at + _PAIRS]))
            for at in range(0, len(later), _PAIRS)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)


def _candidates(keys: Words, places: Ints | None, flagged: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Return pairs (later, earlier): documents of a band's group with its first one, and with the one just before."""
    rows, _ = groups = repeated(keys)
    members = rows if places is None else places[rows]
    owners = groups.owners()
    follows = np.flatnonzero(owners[1:] == owners[:-1]) + 1
    follows = follows[~flagged[members[follows]]]
    first = groups.starts[owners[follows]]
    apart = follows[first != follows - 1]
    later = np.concatenate([members[follows], members[apart]])
    return later, np.concatenate([members[first], members[apart - 1]])

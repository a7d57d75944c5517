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
from faithline.noise.text.hashing import Words, mix
from faithline.noise.text.minhash import BAND_VALUES, Signatures, estimates

__all__ = ["Duplicates", "NearDuplicateFinder"]

Ints = npt.NDArray[np.int64]

_KEY_BYTES = 24
"""Memory per key while it is sorted and looked at."""
_READ_ROWS = 1 << 15
_PAIRS = 1 << 12
"""Pairs verified at a time: each may hold two pages of the scratch file in memory."""


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

    def add(self, signatures: Signatures, rows: Ints) -> None:
        """Add documents: signatures, shape (n, permutations), and their row numbers, ascending."""
        self._signatures.append(signatures)
        self._rows.append(rows)

    def find(self) -> Duplicates:
        """Return the near-duplicates; call once, at the end."""
        self._signatures.close()
        self._rows.close()
        flagged = np.zeros(self._signatures.rows, dtype=np.bool_)
        found: list[tuple[Ints, Ints, npt.NDArray[np.float64]]] = []
        for keys, places in self._keys():
            for later, earlier in _candidates(keys, places, flagged):
                similar = self._estimates(later, earlier)
                near = (similar >= self._min_jaccard) & ~flagged[later]
                flagged[later[near]] = True
                found.append((later[near], earlier[near], similar[near]))
        if not found:
            return Duplicates(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        later, earlier, similar = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = np.argsort(later, kind="stable")
        rows = self._rows.part(0, self._rows.rows)[:, 0].astype(np.int64)
        return Duplicates(rows[later[order]], rows[earlier[order]], similar[order])

    def _keys(self) -> Iterator[tuple[Words, Ints | None]]:
        """Yield the keys of one band, or of a part of it, and their places in the file (None: all, in order)."""
        size = max(1, self._signatures.rows * _KEY_BYTES)
        at_once, parts = max(1, self._sort_bytes // size), -(-size // self._sort_bytes)
        for start in range(0, self._bands, at_once):
            bands = range(start, min(start + at_once, self._bands))
            for part in range(parts):
                yield from self._read(bands, part, parts)

    def _read(self, bands: range, part: int, parts: int) -> Iterator[tuple[Words, Ints | None]]:
        columns: list[list[Words]] = [[] for _ in bands]
        places: list[list[Ints]] = [[] for _ in bands]
        for index, rows in enumerate(self._signatures.parts(_READ_ROWS)):
            words = rows.view(np.uint64)
            for column, place, band in zip(columns, places, bands, strict=True):
                keys = mix(words[:, band])
                if parts > 1:
                    mine = np.flatnonzero(keys % np.uint64(parts) == part)
                    keys = keys[mine]
                    place.append(mine + index * _READ_ROWS)
                column.append(keys)
        for column, place in zip(columns, places, strict=True):
            if column:
                yield np.concatenate(column), np.concatenate(place) if parts > 1 else None

    def _estimates(self, later: Ints, earlier: Ints) -> npt.NDArray[np.float64]:
        parts = [
            estimates(self._signatures.take(later[at : at + _PAIRS]), self._signatures.take(earlier[at : at + _PAIRS]))
            for at in range(0, len(later), _PAIRS)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)


def _candidates(keys: Words, places: Ints | None, flagged: npt.NDArray[np.bool_]) -> Iterator[tuple[Ints, Ints]]:
    """Yield pairs (later, earlier): with the first document of the band's group, then with the one just before."""
    rows, starts = groups = repeated(keys)
    if not len(rows):
        return
    owners = groups.owners()
    later = np.ones(len(rows), dtype=np.bool_)
    later[starts] = False
    members = rows if places is None else places[rows]
    for partner in (members[starts][owners], np.concatenate([members[:1], members[:-1]])):
        todo = later & ~flagged[members]
        yield members[todo], partner[todo]

"""Drawing documents that do not belong to a question, so that the draw survives growth and re-ordering of the data.

All documents of a set lie on a ring, each at the hash of its normalised text. A draw is a point on the ring that
depends on the seed, the question's id and the number of the draw only, and takes the next document. A new document
therefore changes a draw only if it lands between the point and the document taken: of n documents, one in n draws. More
draws of a question extend fewer. Documents whose text equals one of the question's own, whatever their title, are
passed over.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from faithline.noise.text.hashing import Words, hash_strings, mix
from faithline.noise.text.ngrams import Runs
from faithline.noise.text.tokens import tokenise

__all__ = ["DistractorPool", "Draws"]

Ints = npt.NDArray[np.int64]

_SPARE = 8
"""Points beyond those wanted that are tried before a ring is walked step by step."""


class Draws(NamedTuple):
    """Documents drawn for questions."""

    owners: Ints
    """The question of each, ascending; shape (m,)."""
    ids: pa.Array
    """The document; in order of the draw within a question."""


class DistractorPool:
    """The documents of one set; some 60 bytes each, whatever their length."""

    def __init__(self, ids: pa.Array, keys: Words) -> None:
        """Order the ring.

        Args:
            ids: All document ids of the set, shape (n,).
            keys: Hash of each one's normalised text, shape (n,); of equal ones the least id stands for all.
        """
        hashes = hash_strings(ids)
        by_id = np.argsort(hashes, kind="stable")
        self._id_hashes, self._id_keys = hashes[by_id], keys[by_id]
        order = np.lexsort((hashes, keys))
        ring = keys[order]
        first = np.ones(len(ring), dtype=np.bool_)
        first[1:] = ring[1:] != ring[:-1]
        self._ring = ring[first]
        self._ids = ids.take(pa.array(order[first]))

    @classmethod
    def of(cls, batches: Iterable[tuple[pa.Array, pa.Array]]) -> DistractorPool:
        """Read documents: batches of ids and texts."""
        ids, keys = [pa.array([], pa.string())], [np.zeros(0, dtype=np.uint64)]
        for some_ids, texts in batches:
            ids.append(some_ids)
            keys.append(Runs.of(tokenise(texts)).whole())
        return cls(pa.concat_arrays(ids), np.concatenate(keys))

    def __len__(self) -> int:
        return len(self._ring)

    def keys_of(self, ids: pa.Array) -> Words:
        """Return the hash of each document's normalised text; of an unknown document, a hash of its id."""
        hashes = hash_strings(ids)
        if not len(self._id_hashes):
            return hashes
        place = np.minimum(np.searchsorted(self._id_hashes, hashes), len(self._id_hashes) - 1)
        return np.where(self._id_hashes[place] == hashes, self._id_keys[place], hashes)

    def draw(self, questions: Words, wanted: Ints, own: Words, own_owners: Ints) -> Draws:
        """Draw documents for a batch of questions.

        Args:
            questions: Seeded hash of each question's id, shape (q,).
            wanted: How many to draw for each, shape (q,).
            own: Keys of the questions' own documents, shape (d,); none equal to one of them is drawn.
            own_owners: The question of each of them, shape (d,).

        Returns:
            The draws; fewer than wanted where the ring holds no more.
        """
        tries = np.where(wanted > 0, 2 * wanted + _SPARE, 0) if len(self) else np.zeros_like(wanted)
        owners = np.repeat(np.arange(len(questions)), tries)
        number = np.arange(len(owners)) - np.repeat(np.cumsum(tries) - tries, tries)
        places = self._after(mix(questions[owners] + mix(number.astype(np.uint64))))
        good = ~np.isin(_pairs(owners, self._ring[places]), _pairs(own_owners, own))
        good &= _first_of_each(_pairs(owners, self._ring[places]))
        owners, places = owners[good], places[good]
        kept = np.arange(len(owners)) - np.searchsorted(owners, owners) < wanted[owners]
        owners, places = owners[kept], places[kept]
        short = np.flatnonzero(np.bincount(owners, minlength=len(wanted)) < wanted) if len(self) else ()
        for question in short:
            have = places[owners == question]
            start = self._after(mix(questions[question] + mix(np.zeros(1, np.uint64))))[0]
            more = self._walk(start, own[own_owners == question], have)[: wanted[question] - len(have)]
            at = np.searchsorted(owners, question, side="right")
            owners, places = np.insert(owners, at, np.full(len(more), question)), np.insert(places, at, more)
        return Draws(owners, self._ids.take(pa.array(places)))

    def _after(self, points: Words) -> Ints:
        return np.searchsorted(self._ring, points).astype(np.int64) % len(self)

    def _walk(self, start: np.int64, own: Words, have: Ints) -> Ints:
        """Return all free documents in the order of the ring, for the few questions that exhaust a small one."""
        ring = np.roll(np.arange(len(self)), -start)
        free: Ints = ring[~np.isin(self._ring[ring], own) & ~np.isin(ring, have)]
        return free


def _pairs(owners: Ints, keys: Words) -> Words:
    return mix(keys + mix(owners.astype(np.uint64)))


def _first_of_each(values: Words) -> npt.NDArray[np.bool_]:
    first = np.zeros(len(values), dtype=np.bool_)
    first[np.unique(values, return_index=True)[1]] = True
    return first

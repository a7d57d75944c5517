"""Repeated ids: an equal row is dropped and counted, a contradicting one is refused; the first row stays."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from faithline.data.digest_index import DigestIndex
from faithline.data.readers.ledger import RowLedger

__all__ = ["RepeatFilter", "hash_words"]

Words = npt.NDArray[np.uint64]


class RepeatFilter:
    """Remembers the ids of one table of one source and what each stood for."""

    def __init__(self, ledger: RowLedger) -> None:
        self._ledger = ledger
        self._index = DigestIndex()

    def first(self, ids: Sequence[str], contents: Sequence[bytes], where: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Say which rows have an id never seen before, shape (n,); account for the others.

        Args:
            ids: The id of each row.
            contents: Everything else of each row that must agree for the row to be a mere repetition.
            where: The place of each row.

        Raises:
            DataInvalid: If an id comes back with other content and the ledger says fail.
        """
        return self.first_hashed(hash_words(key.encode() for key in ids), hash_words(contents), ids, where)

    def first_hashed(
        self, keys: Words, checks: Words, ids: Sequence[str], where: Sequence[str]
    ) -> npt.NDArray[np.bool_]:
        """Do as `first`, with ids and contents hashed already by `hash_words`, both of shape (n,)."""
        fresh, equal = self._index.add(keys, checks)
        for row in np.flatnonzero(~fresh).tolist():
            if equal[row]:
                self._ledger.drop_repeated(where[row], ids[row])
            else:
                self._ledger.reject(where[row], "conflicting_id", f"{ids[row]} was seen before with other content")
        return fresh


def hash_words(values: Iterable[bytes]) -> Words:
    """Return the first 64 bits of SHA-256 of each value, shape (n,)."""
    digests = b"".join(hashlib.sha256(value).digest()[:8] for value in values)
    return np.frombuffer(digests, dtype=">u8").astype(np.uint64)

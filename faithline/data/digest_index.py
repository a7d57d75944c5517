"""A set of 64-bit digests that remembers which content each one stood for, at 16 bytes an entry.

De-duplicating while streaming needs every id ever seen; a Python set of them costs some 100 bytes each, which at a
million documents is more than all the rest of the reader. Entries are kept as sorted runs that are merged when a
newer run has grown as large as an older one, so adding n keys costs O(n log n) overall.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["DigestIndex"]

Words = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]


class DigestIndex:
    """Maps 64-bit keys to the 64-bit check value they were first added with."""

    def __init__(self) -> None:
        self._runs: list[tuple[Words, Words]] = []

    def __len__(self) -> int:
        return sum(len(keys) for keys, _ in self._runs)

    def add(self, keys: Words, checks: Words) -> tuple[Flags, Flags]:
        """Add keys and say which of them are new.

        Args:
            keys: Identities, shape (n,); may repeat.
            checks: Digest of what each key stands for, shape (n,).

        Returns:
            fresh: True where the key was never seen, neither before nor earlier in `keys`; shape (n,).
            equal: True where the check equals the one the key was first added with; shape (n,).
        """
        unique, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        known = np.zeros(len(unique), dtype=np.bool_)
        reference = checks[first]
        for run_keys, run_checks in self._runs:
            place = np.searchsorted(run_keys, unique)
            place[place == len(run_keys)] = 0
            hit = run_keys[place] == unique
            reference[hit] = run_checks[place[hit]]
            known |= hit
        fresh = np.zeros(len(keys), dtype=np.bool_)
        fresh[first[~known]] = True
        self._append(unique[~known], reference[~known])
        return fresh, reference[inverse.reshape(-1)] == checks

    def _append(self, keys: Words, checks: Words) -> None:
        if not len(keys):
            return
        self._runs.append((keys, checks))
        while len(self._runs) > 1 and len(self._runs[-2][0]) <= len(self._runs[-1][0]):
            (later_keys, later_checks), (old_keys, old_checks) = self._runs.pop(), self._runs.pop()
            merged = np.concatenate([old_keys, later_keys])
            order = np.argsort(merged, kind="stable")
            self._runs.append((merged[order], np.concatenate([old_checks, later_checks])[order]))

"""Hashes of runs of n tokens, for every position of a batch in a few array passes.

A run's hash is the polynomial sum h_0 + h_1 r + ... + h_(n-1) r^(n-1) over token hashes modulo 2^64, got from one
running sum that serves every n (differences, times an inverse power of r), then scrambled. A text shorter than n tokens
is one run of its own, so that equal short texts still meet; a text without tokens has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from faithline.noise.text.hashing import Words, mix
from faithline.noise.text.tokens import Tokens

__all__ = ["Runs", "grams_of", "window_minima"]

Ints = npt.NDArray[np.int64]

_BASE = 0xA0761D6478BD642F
_INVERSE = pow(_BASE, -1, 1 << 64)
_NOWHERE = np.uint64(0xFFFFFFFFFFFFFFFF)


@dataclass(frozen=True)
class Runs:
    """Running sums over the tokens of a batch."""

    tokens: Tokens
    sums: Words
    """Shape (t + 1,)."""

    @classmethod
    def of(cls, tokens: Tokens) -> Runs:
        """Sum up."""
        sums = np.zeros(len(tokens.hashes) + 1, dtype=np.uint64)
        np.cumsum(tokens.hashes * _powers(len(tokens.hashes))[0], out=sums[1:])
        return cls(tokens, sums)

    def whole(self) -> Words:
        """Return a hash of all tokens of each text, shape (n,); equal for texts that differ in nothing but form."""
        first = self.tokens.first
        return mix((self.sums[first[1:]] - self.sums[first[:-1]]) * _powers(len(self.sums))[1][first[:-1]])

    def hashes(self, n: int) -> Words:
        """Return the hash of the n tokens from each position on, shape (t,); where a text ends before: the maximum."""
        total = len(self.tokens.hashes)
        hashes = np.full(total, _NOWHERE)
        if total >= n:
            found = self.sums[n:] - self.sums[:-n]
            found *= _powers(total)[1][: total - n + 1]
            hashes[: total - n + 1] = mix(found)
            hashes[_last_positions(self.tokens, n - 1)] = _NOWHERE
        return hashes


def grams_of(runs: Runs, n: int, window: int) -> tuple[Words, Ints]:
    """Return what stands for each text when texts are compared by shared runs of n tokens.

    Args:
        runs: The batch.
        n: Tokens per run.
        window: 1 = every run; w > 1 = the least hash of any w consecutive ones (winnowing, Schleimer et al. 2003): two
            texts that share n + w - 1 tokens in a row are then sure to share a hash.

    Returns:
        hashes: Shape (m,); for a text that is shorter than n + w - 1 tokens its least one, or its hash as a whole.
        texts: Which text of the batch each belongs to, shape (m,), ascending.
    """
    tokens, every = runs.tokens, runs.hashes(n)
    kept = window_minima(every, tokens, n, window)
    fresh = kept != _NOWHERE
    starts = tokens.first[:-1][tokens.counts > 0]
    begun = fresh[starts]
    fresh[1:] &= kept[1:] != kept[:-1]  # equal minima of neighbouring windows are one
    fresh[starts] = begun
    hashes, texts = kept[fresh], tokens.owners[fresh]
    short = np.flatnonzero((tokens.counts > 0) & (tokens.counts < n + window - 1))
    if not len(short):
        return hashes, texts
    place = np.searchsorted(texts, short)
    return np.insert(hashes, place, _least(every, tokens, short, runs, n)), np.insert(texts, place, short)


def window_minima(hashes: Words, tokens: Tokens, n: int, window: int) -> Words:
    """Return the least of `window` consecutive hashes from each position on; the maximum where a text ends before."""
    least, reach = hashes, 1
    while reach < window:
        step = min(reach, window - reach)
        least = least.copy()
        np.minimum(least[:-step], least[step:], out=least[:-step])
        reach += step
    if window > 1:
        least[_last_positions(tokens, n + window - 2)] = _NOWHERE
    return least


def _least(every: Words, tokens: Tokens, short: Ints, runs: Runs, n: int) -> Words:
    """Return the least run hash of each short text, or its hash as a whole if it has no run of n."""
    if not len(short):
        return np.zeros(0, dtype=np.uint64)
    bounds = np.stack([tokens.first[short], tokens.first[short + 1]], axis=1).reshape(-1)
    least = np.minimum.reduceat(np.append(every, _NOWHERE), bounds)[::2]
    return np.where(tokens.counts[short] < n, runs.whole()[short], least)


def _last_positions(tokens: Tokens, count: int) -> Ints:
    """Return the positions of the last `count` tokens of each text, all of them in a shorter text."""
    ends = tokens.first[1:]
    back = np.minimum(tokens.counts, count)
    within = np.arange(back.sum()) - np.repeat(np.cumsum(back) - back, back)
    positions: Ints = np.repeat(ends - back, back) + within
    return positions


def _powers(count: int) -> tuple[Words, Words]:
    """Return r^0, r^1, ... and their inverses, at least `count` of each."""
    return tuple(table[:count] for table in _power_tables(max(16, count.bit_length())))  # type: ignore[return-value]


@lru_cache(maxsize=4)
def _power_tables(bits: int) -> tuple[Words, Words]:
    tables = []
    for base in (_BASE, _INVERSE):
        table = np.full(1 << bits, base, dtype=np.uint64)
        table[0] = 1
        tables.append(np.multiply.accumulate(table))
    return tables[0], tables[1]

"""MinHash signatures of token shingles, by one permutation hashing with optimal densification.

Li, Owen and Zhang (2012): one hash per shingle suffices if its first bits choose one of k bins and its other bits
compete for the bin's minimum; Shrivastava (2017): a bin without a shingle borrows the minimum of another one, the same
for every text. The share of equal values of two signatures is an unbiased estimate of the Jaccard similarity of the two
shingle sets. The cost is one hash per shingle instead of k (64 permutations: 1 ns a byte against 11).

Values are cut to 16 bits: unequal minima agree by chance once in 65,536. Four neighbouring values, read as one 64-bit
number, are a band of the look-up in `near_duplicates`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from faithline.noise.text.ngrams import Runs

__all__ = ["BAND_VALUES", "Signatures", "estimates", "signatures"]

Signatures = npt.NDArray[np.uint16]

BAND_VALUES = 4
_EMPTY = np.uint32(0xFFFFFFFF)
_FEW = 1 / 32
"""Share of empty bins below which all their donors are looked up at once instead of row by row."""
_ORDER_SEED = 0x6D696E68617368


def signatures(runs: Runs, shingle_words: int, bins: int) -> Signatures:
    """Return the signature of each text's set of shingles, shape (n, bins).

    Args:
        runs: The texts; one that is shorter than a shingle is its own shingle, one without tokens has no meaningful
            signature.
        shingle_words: Tokens per shingle.
        bins: Values per signature.
    """
    tokens = runs.tokens
    texts = len(tokens.counts)
    # One row per bin: filling an empty bin from another is then a matter of whole rows.
    least = np.full(bins * texts, _EMPTY)
    hashes = runs.hashes(shingle_words)
    places = _bins(hashes, bins)
    places *= texts
    places += tokens.owners
    # High bits choose the bin, low bits compete; a position without a shingle carries the maximum, which loses.
    np.minimum.at(least, places, hashes.astype(np.uint32))
    short = np.flatnonzero((tokens.counts > 0) & (tokens.counts < shingle_words))
    if len(short):
        whole = runs.whole()[short]
        least[_bins(whole, bins) * texts + short] = whole.astype(np.uint32)
    # The low half: the high half of a minimum over many shingles is nearly always zero.
    return np.ascontiguousarray(_densified(least.reshape(bins, texts)).astype(np.uint16).T)


def estimates(left: Signatures, right: Signatures) -> npt.NDArray[np.float64]:
    """Return the estimated Jaccard similarity of each pair of rows, shape (n,)."""
    return np.asarray((left == right).mean(axis=1), dtype=np.float64)


def _bins(hashes: npt.NDArray[np.uint64], bins: int) -> npt.NDArray[np.int64]:
    places = hashes >> np.uint64(48)
    places *= np.uint64(bins)
    places >>= np.uint64(16)
    return places.view(np.int64)


def _densified(least: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Fill each text's empty bins from its others, shape (bins, n)."""
    donors, filled = _donors(least.shape[0]), least.copy()
    for attempt, order in enumerate(donors):
        full = filled != _EMPTY
        if np.count_nonzero(full) >= (1 - _FEW) * full.size:
            return _fill_few(least, filled, donors[attempt:])
        # Empty is all ones, so `and` puts the donor's value there and leaves full bins alone: 5 times np.copyto.
        donated = least[order]
        donated |= np.negative(full.view(np.uint8).astype(np.uint32))
        filled &= donated
    return filled


def _fill_few(
    least: npt.NDArray[np.uint32], filled: npt.NDArray[np.uint32], donors: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint32]:
    bins, texts = np.divmod(np.flatnonzero(filled == _EMPTY), filled.shape[1])
    donated = least[donors[:, bins], texts]
    first = (donated != _EMPTY).argmax(axis=0)
    filled[bins, texts] = donated[first, np.arange(len(bins))]
    return filled


@lru_cache(maxsize=4)
def _donors(bins: int) -> npt.NDArray[np.int64]:
    """For each bin, all others in an order of its own: attempt a of bin b is entry [a, b]."""
    generator = np.random.Generator(np.random.PCG64(_ORDER_SEED))
    orders = [generator.permutation(np.delete(np.arange(bins), own)) for own in range(bins)]
    return np.stack(orders, axis=1)

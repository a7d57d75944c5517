"""64-bit digests of strings on whole Arrow columns, and sets of them.

Uniqueness, references and fingerprints need every id of a table at once. As digests they cost 16 bytes each instead of
a Python string, and hashing whole columns costs a sixth of one hashlib call per row. The digests are not
cryptographic: they tell honest rows apart (n rows collide with probability n^2 / 2^65), and never leave this package
but inside a snapshot's fingerprint.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from faithline.data.digest_index import DigestIndex

__all__ = ["DocumentKeys", "Words", "digests"]

Words = npt.NDArray[np.uint64]

_WORD_BYTES = 8
_SEEDS = (0x243F6A8885A308D3, 0x13198A2E03707344)
"""The first digits of pi: fixed, for a snapshot's fingerprint must mean the same next year."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xFF51AFD7ED558CCD)
_MIX_2 = np.uint64(0xC4CEB9FE1A85EC53)
_SHIFT = np.uint64(33)


def digests(strings: pa.Array | pa.ChunkedArray) -> Words:
    """Return 128 bits for each string, shape (n, 2): the first word is the key, the second its check.

    Args:
        strings: Of type string, without nulls.
    """
    column = pa.chunked_array(strings) if isinstance(strings, pa.ChunkedArray) else pa.chunked_array([strings])
    parts = [_digests(chunk.cast(pa.large_string())) for chunk in column.chunks if len(chunk)]
    return np.concatenate(parts) if parts else np.zeros((0, 2), dtype=np.uint64)


class DocumentKeys(DigestIndex):
    """The documents a question or response may point at."""

    def contains(self, keys: Words) -> npt.NDArray[np.bool_]:
        """Say which keys were added before, shape (n,)."""
        wanted, rows = np.unique(keys, return_inverse=True)  # sorted: look-ups then hit the cache
        found = np.zeros(len(wanted), dtype=np.bool_)
        for run, _ in self._runs:
            place = np.searchsorted(run, wanted)
            place[place == len(run)] = 0
            found |= run[place] == wanted
        return found[rows.reshape(-1)]


def _digests(strings: pa.LargeStringArray) -> Words:
    words, first, position = _padded_words(strings)
    length = np.diff(_offsets(strings)).astype(np.uint64)
    columns = []
    for seed in _SEEDS:
        mixed = _mix(words ^ _mix((position + np.uint64(1)) * _GOLDEN ^ np.uint64(seed)))
        columns.append(_mix(np.add.reduceat(mixed, first) ^ length * _GOLDEN))
    return np.stack(columns, axis=1)


def _padded_words(strings: pa.LargeStringArray) -> tuple[Words, npt.NDArray[np.int64], Words]:
    """Cut every string into 8-byte words, zero-padded, at least one.

    Returns:
        words: All words, shape (w,).
        first: Index of each string's first word, shape (n,).
        position: Of each word in its string, shape (w,).
    """
    offsets = _offsets(strings)
    lengths = np.diff(offsets)
    data = np.frombuffer(strings.buffers()[2] or b"", dtype=np.uint8)[offsets[0] : offsets[-1]]
    counts = np.maximum(1, -(-lengths // _WORD_BYTES))
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    padded = np.zeros(int(counts.sum()) * _WORD_BYTES, dtype=np.uint8)
    if lengths.min() == lengths.max():  # ids of one set: no index of one entry a byte
        padded.reshape(len(lengths), -1)[:, : lengths[0]] = data.reshape(len(lengths), -1)
    else:
        shift = first * _WORD_BYTES - (offsets[:-1] - offsets[0])
        padded[np.arange(len(data)) + np.repeat(shift, lengths)] = data
    position = np.arange(len(padded) // _WORD_BYTES) - np.repeat(first, counts)
    return padded.view("<u8").astype(np.uint64), first, position.astype(np.uint64)


def _offsets(strings: pa.LargeStringArray) -> npt.NDArray[np.int64]:
    buffer = strings.buffers()[1]
    return np.frombuffer(buffer, dtype=np.int64)[strings.offset : strings.offset + len(strings) + 1]


def _mix(values: Words) -> Words:
    """Scramble each word so that every bit depends on every other (the finaliser of MurmurHash3, public domain)."""
    values = (values ^ (values >> _SHIFT)) * _MIX_1
    values = (values ^ (values >> _SHIFT)) * _MIX_2
    mixed: Words = values ^ (values >> _SHIFT)
    return mixed

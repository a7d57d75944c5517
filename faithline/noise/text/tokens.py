"""Texts as hashed words: one pass over the bytes of a batch, no Python object per word.

Two kinds of words are told apart. *White-space words* are what `str.split()` returns, and lengths are counted in them.
*Tokens* are what texts are compared by: runs of letters and digits in lower case; everything else separates, so case,
punctuation and spacing make no difference. Letters beyond ASCII count as letters, and so does every other character of
such scripts but the punctuation of Latin-1, of U+2000-206F and of CJK (U+3000-303F). A run longer than 64 bytes, as in
scripts without spaces, is cut into pieces.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from faithline.noise.text.hashing import WORD_BYTES, Words, hash_spans, string_bytes

__all__ = ["Tokens", "tokenise"]

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

_LONGEST_TOKEN = 64
_SPACE = 32


@dataclass(frozen=True)
class Tokens:
    """The tokens of a batch of texts, one after the other."""

    hashes: Words
    """Hash of every token, shape (t,)."""
    first: Ints
    """Index of each text's first token, shape (n + 1,); the last entry is t."""
    words: Ints
    """White-space words of each text, shape (n,)."""

    @cached_property
    def counts(self) -> Ints:
        """Tokens of each text, shape (n,)."""
        return np.diff(self.first)

    @cached_property
    def owners(self) -> Ints:
        """Which text each token belongs to, shape (t,)."""
        return np.repeat(np.arange(len(self.first) - 1), self.counts)


def tokenise(texts: pa.Array) -> Tokens:
    """Cut texts into tokens.

    Args:
        texts: Strings without nulls, shape (n,); some megabytes at most.
    """
    raw, text_starts = _joined(texts)
    token, space = _classes(raw)
    edges = np.flatnonzero(token[1:] != token[:-1])
    edges += 1
    starts, lengths = _cut(edges[0::2], edges[1::2] - edges[0::2])
    begins = space[:-1] > space[1:]
    words = np.add.reduceat(begins.view(np.uint8), text_starts[:-1] - 1, dtype=np.int64) if len(texts) else _NONE
    return Tokens(hash_spans(raw, starts, lengths), np.searchsorted(starts, text_starts).astype(np.int64), words)


_NONE = np.zeros(0, dtype=np.int64)


def _joined(texts: pa.Array) -> tuple[Bytes, Ints]:
    """Lower the case and join with spaces.

    Returns:
        raw: One space, the texts with a space after each, and some more spaces.
        text_starts: Where each text starts in it, and where a next one would, shape (n + 1,).
    """
    lowered = pc.utf8_lower(texts)
    _, offsets = string_bytes(lowered)
    whole = pa.ListArray.from_arrays(pa.array([0, len(lowered)], pa.int32()), lowered)
    data, _ = string_bytes(pc.binary_join(whole, " "))
    raw = np.empty(1 + len(data) + 1 + WORD_BYTES, dtype=np.uint8)
    raw[0], raw[1 + len(data) :] = _SPACE, _SPACE
    raw[1 : 1 + len(data)] = data
    return raw, offsets + np.arange(1, len(offsets) + 1)


def _classes(raw: Bytes) -> tuple[Flags, Flags]:
    """Say of each byte whether it belongs to a token, and whether to white space as `str.split` has it."""
    # Unsigned differences wrap round, so one comparison tests a range of bytes.
    token = (raw - np.uint8(ord("a"))) < np.uint8(26)
    token |= (raw - np.uint8(ord("0"))) < np.uint8(10)
    beyond = raw >= np.uint8(0x80)
    token |= beyond
    space = (raw - np.uint8(9)) < np.uint8(5)
    space |= raw == np.uint8(_SPACE)
    space |= (raw - np.uint8(0x1C)) < np.uint8(4)
    if beyond.any():
        _mark_multibyte(raw, beyond, token, space)
    return token, space


def _mark_multibyte(raw: Bytes, beyond: Flags, token: Flags, space: Flags) -> None:
    high = np.flatnonzero(beyond)
    leads = raw[high]
    latin = high[leads == 0xC2]  # U+0080-00BF
    second = raw[latin + 1]
    for byte in (0, 1):
        token[latin + byte] = False
    blank = latin[(second == 0x85) | (second == 0xA0)]
    for byte in (0, 1):
        space[blank + byte] = True

    lead = high[(leads >= 0xE1) & (leads <= 0xE3)]
    first, second, third = raw[lead], raw[lead + 1], raw[lead + 2]
    general, cjk = (first == 0xE2) & ((second == 0x80) | (second == 0x81)), (first == 0xE3) & (second == 0x80)
    punctuation = lead[general | cjk]
    in_2000 = (first == 0xE2) & (second == 0x80)
    blank = lead[
        (in_2000 & ((third <= 0x8A) | (third == 0xA8) | (third == 0xA9) | (third == 0xAF)))  # U+2000-200A, 2028-9, 202F
        | ((first == 0xE2) & (second == 0x81) & (third == 0x9F))  # U+205F
        | (cjk & (third == 0x80))  # U+3000
        | ((first == 0xE1) & (second == 0x9A) & (third == 0x80))  # U+1680
    ]
    for byte in (0, 1, 2):
        token[punctuation + byte] = False
        token[blank + byte] = False
        space[blank + byte] = True


def _cut(starts: Ints, lengths: Ints) -> tuple[Ints, Ints]:
    """Cut runs longer than `_LONGEST_TOKEN` into pieces."""
    if not len(lengths) or lengths.max() <= _LONGEST_TOKEN:
        return starts, lengths
    pieces = -(-lengths // _LONGEST_TOKEN)
    within = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    cut = within * _LONGEST_TOKEN
    return np.repeat(starts, pieces) + cut, np.minimum(np.repeat(lengths, pieces) - cut, _LONGEST_TOKEN)

"""The characters beyond ASCII of a batch of texts, decoded and classified; ASCII text, the bulk, costs one comparison.

Classes of a character are bits of one table over the Basic Multilingual Plane; the planes above it share one entry,
that of a character which may be anything.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from faithline.noise.text.hashing import string_bytes

__all__ = [
    "CONTROL", "INVISIBLE", "LEADS_MOJIBAKE", "MAY_COMPOSE", "REPLACEMENT", "SCRIPTS", "Characters", "beyond_ascii",
]  # fmt: skip

Ints = npt.NDArray[np.int64]

REPLACEMENT, CONTROL, INVISIBLE, MAY_COMPOSE, LEADS_MOJIBAKE = (np.uint8(1 << bit) for bit in range(5))

_BMP = 1 << 16
_INVISIBLE = "\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
_LEADS_MOJIBAKE = "ÂÃâïðÐÑ"
_SCRIPT_RANGES = (
    ("greek", 0x0370, 0x03FF),
    ("greek", 0x1F00, 0x1FFF),
    ("cyrillic", 0x0400, 0x052F),
    ("armenian", 0x0530, 0x058F),
    ("hebrew", 0x0590, 0x05FF),
    ("arabic", 0x0600, 0x077F),
    ("indic", 0x0900, 0x0DFF),
    ("thai", 0x0E00, 0x0EFF),
    ("georgian", 0x10A0, 0x10FF),
    ("kana", 0x3040, 0x30FF),
    ("han", 0x3400, 0x9FFF),
    ("hangul", 0xAC00, 0xD7A3),
)
SCRIPTS = tuple(dict.fromkeys(name for name, _, _ in _SCRIPT_RANGES))
"""Scripts that are told apart; characters of none of them count as Latin or common."""


@dataclass(frozen=True)
class Characters:
    """All characters beyond ASCII, in order."""

    owners: Ints
    """Text of each, shape (c,)."""
    classes: npt.NDArray[np.uint8]
    """Bits, shape (c,)."""
    scripts: npt.NDArray[np.uint8]
    """Index into SCRIPTS, or len(SCRIPTS); shape (c,)."""

    def texts_with(self, kind: np.uint8) -> Ints:
        """Return the texts that hold a character of this class, repeated."""
        texts: Ints = self.owners[(self.classes & kind) != 0]
        return texts


def beyond_ascii(texts: pa.Array) -> Characters:
    """Decode the characters beyond ASCII of valid UTF-8 strings."""
    data, offsets = string_bytes(texts)
    starts = np.flatnonzero(data >= 0xC2)
    # Three bytes at every start; what lies behind a shorter character is not looked at.
    padded = np.concatenate([data, np.zeros(2, dtype=np.uint8)])
    first = padded[starts]
    after = [(padded[starts + step] & 0x3F).astype(np.int32) for step in (1, 2)]
    two = (first & 0x1F).astype(np.int32) << 6 | after[0]
    three = (first & 0x0F).astype(np.int32) << 12 | after[0] << 6 | after[1]
    codes = np.where(first < 0xE0, two, np.where(first < 0xF0, three, _BMP))
    classes, scripts = _tables()
    owners: Ints = np.searchsorted(offsets, starts, side="right") - 1
    return Characters(owners, classes[codes], scripts[codes])


@lru_cache(maxsize=1)
def _tables() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    classes = np.zeros(_BMP + 1, dtype=np.uint8)
    classes[[code for code in range(_BMP) if _may_compose(code)]] |= MAY_COMPOSE
    classes[_BMP] |= MAY_COMPOSE
    classes[0xFFFD] |= REPLACEMENT
    classes[0x80:0xA0] |= CONTROL
    classes[0x85] &= ~CONTROL  # next line: white space
    classes[[ord(character) for character in _INVISIBLE]] |= INVISIBLE
    classes[[ord(character) for character in _LEADS_MOJIBAKE]] |= LEADS_MOJIBAKE
    scripts = np.full(_BMP + 1, len(SCRIPTS), dtype=np.uint8)
    for name, low, high in _SCRIPT_RANGES:
        scripts[low : high + 1] = SCRIPTS.index(name)
    return classes, scripts


def _may_compose(code: int) -> bool:
    """Say whether text with this character may differ from its composed form (NFC): if not, no text does."""
    if 0x3400 <= code <= 0x9FFF or 0xAC00 <= code <= 0xDFFF:  # Han, Hangul, surrogates: half of all, never
        return False
    # Marks may compose with, or be reordered against, what precedes them, and so may the vowels and finals of Hangul.
    character = chr(code)
    return (
        unicodedata.category(character).startswith("M")
        or 0x1160 <= code <= 0x11FF
        or not unicodedata.is_normalized("NFC", character)
    )

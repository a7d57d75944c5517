"""Faults of single texts, as one bit each: nothing in it, cut off, damaged encoding, not the expected language.

The rules are cheap and documented rather than clever: a count says where to look, not that a text is wrong.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from faithline.noise.text.characters import CONTROL, INVISIBLE, LEADS_MOJIBAKE, MAY_COMPOSE, REPLACEMENT, Characters
from faithline.noise.text.hashing import string_bytes
from faithline.noise.text.tokens import Tokens

__all__ = ["Fault", "Faults", "encoding_faults", "ending_faults", "flag"]

Faults = npt.NDArray[np.uint32]
Flags = npt.NDArray[np.bool_]


class Fault(IntEnum):
    """Bit of each fault."""

    EMPTY = 0
    """No character but white space."""
    ELLIPSIS = 1
    """Ends in three dots."""
    UNFINISHED = 2
    """Long enough, and ends in a letter, digit, comma, colon, dash or opening bracket."""
    REPLACEMENT = 3
    """Holds U+FFFD, which decoders put where bytes made no sense."""
    MOJIBAKE = 4
    """Holds UTF-8 that was read as Latin-1 or Windows-1252, e.g. "Ã©" for "é"."""
    CONTROL = 5
    """Holds a control character other than tab, line feed and carriage return."""
    INVISIBLE = 6
    """Holds a zero-width or direction character, or a byte order mark."""
    NOT_NFC = 7
    """Not in Unicode's composed form, so equal-looking strings differ."""
    OTHER_SCRIPT = 8
    """Mostly in a script other than Latin."""
    FEW_FUNCTION_WORDS = 9
    """In Latin script with hardly any English function word: another language, or a list, a table, an infobox."""
    PARTLY_READ = 10
    """Longer than what is analysed."""
    EMAIL = 16
    PHONE = 17
    CARD = 18
    """A number of 13 to 19 digits as payment cards have, whose check digit is right (Luhn)."""
    SOCIAL_SECURITY = 19
    """Written like a US social security number."""
    IP_ADDRESS = 20


# Two- and three-byte sequences seen through Latin-1 or Windows-1252: é, typographic quotes, BOM, emoji, Cyrillic.
_HIGH = "\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"
_MOJIBAKE = f"Â[\u0080-\u00bf]|Ã[{_HIGH}]|â€[{_HIGH}]|â\u0080[\u0080-\u00bf]|ï»¿|ï¿½|ðŸ|(?:[ÐÑ][{_HIGH}]){{3}}"
_OPEN_END = np.zeros(256, dtype=np.bool_)
_OPEN_END[list(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789,;:-([{")] = True


def flag(fault: Fault, where: Flags) -> Faults:
    """Return the fault's bit where true, 0 elsewhere."""
    return where.astype(np.uint32) << np.uint32(fault)


def encoding_faults(texts: pa.Array, characters: Characters) -> Faults:
    """Find damage of the encoding, shape (n,).

    Args:
        texts: The texts.
        characters: Theirs beyond ASCII.
    """
    faults = np.zeros(len(texts), dtype=np.uint32)
    data, offsets = string_bytes(texts)
    low = np.flatnonzero(data < 32)
    low = np.concatenate([low[~np.isin(data[low], (9, 10, 13))], np.flatnonzero(data == 127)])
    control = np.searchsorted(offsets, low, side="right") - 1
    _set(faults, Fault.CONTROL, np.concatenate([control, characters.texts_with(CONTROL)]))
    _set(faults, Fault.REPLACEMENT, characters.texts_with(REPLACEMENT))
    _set(faults, Fault.INVISIBLE, characters.texts_with(INVISIBLE))
    rows, suspects = _some(texts, characters.texts_with(LEADS_MOJIBAKE))
    _set(faults, Fault.MOJIBAKE, rows[_flags(pc.match_substring_regex(suspects, _MOJIBAKE))])
    rows, suspects = _some(texts, characters.texts_with(MAY_COMPOSE))
    _set(faults, Fault.NOT_NFC, rows[_flags(pc.not_equal(suspects, pc.utf8_normalize(suspects, "NFC")))])
    return faults


def ending_faults(texts: pa.Array, tokens: Tokens, min_words: int) -> Faults:
    """Find empty and cut-off texts, shape (n,).

    Args:
        texts: The texts.
        tokens: Theirs.
        min_words: Shorter texts (titles, list entries) need no closing punctuation.
    """
    trimmed = pc.utf8_rtrim_whitespace(texts)
    data, offsets = string_bytes(trimmed)
    last = np.append(data, np.uint8(0))[np.maximum(offsets[1:] - 1, 0)]
    open_end = _OPEN_END[last] & (np.diff(offsets) > 0)
    dots = _flags(pc.ends_with(trimmed, "..."))
    rows, others = _some(trimmed, np.flatnonzero((last >= 0x80) & (np.diff(offsets) > 0)))
    ends = [text[-1] for text in others.to_pylist()]
    open_end[rows] = np.array([end.isalnum() or end in "–—" for end in ends], dtype=np.bool_)
    dots[rows] |= np.array([end == "…" for end in ends], dtype=np.bool_)
    faults = flag(Fault.EMPTY, tokens.words == 0) | flag(Fault.ELLIPSIS, dots)
    return faults | flag(Fault.UNFINISHED, open_end & (tokens.words >= min_words))


def _set(faults: Faults, fault: Fault, rows: npt.NDArray[np.int64]) -> None:
    faults[rows] |= np.uint32(1 << fault)


def _some(texts: pa.Array, rows: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], pa.Array]:
    """Return the rows once each, ascending, and their texts."""
    rows = np.unique(rows)
    return rows, texts.take(pa.array(rows))


def _flags(values: pa.Array) -> Flags:
    return np.array(values, dtype=np.bool_)

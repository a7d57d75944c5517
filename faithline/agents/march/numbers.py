"""Numbers: the one grammar of an answer that is a number, and the numbers that a running text states.

`parse_number` is the canonical form (an answer is a number or it is not): sign, digits with well-formed thousands
commas, decimals, a trailing per cent sign. 12% is 12, never 0.12; a suffix such as k, a range, a fraction, a word or an
exponent is no number. `find_numbers` reads prose, where the same digits may be part of a name: codes (B12, COVID-19,
1.2.3, 3f2a9) are no numbers; ordinals, decades and units (12th, 1990s, 5km) count with their digits; each end of a
range, date, fraction or clock time counts on its own; number words do not count. Values are exact Decimals; only the
digits 0-9 are digits, commas group and points are decimal. Both take time linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

__all__ = ["Number", "find_numbers", "parse_number", "unsupported"]

_ANSWER = re.compile(r"([+\-−]?)([1-9][0-9]{0,2}(?:,[0-9]{3})+|[0-9]+)(\.[0-9]+)?%?")

_LETTER = "A-Za-zµÀ-ÖØ-öø-ɏͰ-ϿЀ-ӿ_"
"""Letters of scripts that put spaces between words, so that a digit beside one is part of a code; and `_`."""
_CHUNK = re.compile(rf"[0-9]+(?:[.,][0-9]+)*+(?P<tail>[{_LETTER}0-9]*+)")
_GROUPED = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_IS_LETTER = re.compile(f"[{_LETTER}]")
_WORD_BEFORE = 40
"""Characters of a hyphenated word that are looked at to tell COVID-19 from mid-1990s."""
_SIGNS = "-−+"
_CACHED_LENGTH = 32


@dataclass(frozen=True)
class Number:
    """A number in a text."""

    value: Decimal
    start: int
    """Offset of its first character, the sign included."""
    end: int
    """Offset after its last digit."""


def parse_number(text: str) -> Decimal | None:
    """Read a text that should be one number.

    Args:
        text: An answer; white space around it is ignored.

    Returns:
        The value, or None if the text is anything else than a number.
    """
    return _cached(text) if len(text) <= _CACHED_LENGTH else _parse(text)


def _parse(text: str) -> Decimal | None:
    match = _ANSWER.fullmatch(text.strip())
    if match is None:
        return None
    sign, whole, decimals = match.groups("")
    return Decimal(("-" if sign in ("-", "−") else "") + whole.replace(",", "") + decimals)


# The same few answers come several times per sample: once proposed, then once per vote.
_cached = lru_cache(maxsize=4096)(_parse)


def find_numbers(text: str) -> list[Number]:
    """Find the numbers that a text states, in order."""
    return list(_find(text))


def unsupported(text: str, evidence: Iterable[str]) -> list[Number]:
    """Numbers of a text that no piece of evidence states with the same value and sign.

    Args:
        text: A response.
        evidence: Texts that may support it.
    """
    known = {number.value for piece in evidence for number in _find(piece)}
    return [number for number in _find(text) if number.value not in known]


def _find(text: str) -> Iterator[Number]:
    code_end = -1
    for match in _CHUNK.finditer(text):
        tail = match["tail"]
        start, end = match.start(), match.start("tail")
        if _in_code(text, start, code_end) or any(char in "_0123456789" for char in tail):
            code_end = match.end()
            continue
        yield from _numbers_of(text[start:end], start, *_lead(text, start))


def _in_code(text: str, start: int, code_end: int) -> bool:
    """Whether digits continue a word: after a letter (B12), or a word with capitals and a hyphen (F-16, AB-12-34)."""
    if start == 0:
        return False
    if _IS_LETTER.match(text[start - 1]):
        return True
    if text[start - 1] not in "-./" or start == 1:
        return False
    if start - 1 == code_end:
        return True
    if text[start - 1] != "-" or not _IS_LETTER.match(text[start - 2]):
        return False
    first = start - 2
    while first > max(0, start - _WORD_BEFORE) and _IS_LETTER.match(text[first - 1]):
        first -= 1
    return any(char.isupper() for char in text[first : start - 1])


def _lead(text: str, start: int) -> tuple[int, str]:
    """What stands before the digits and belongs to the number: a sign, the point of `.5`.

    Returns:
        Length and text to put before the digits.
    """
    lead, first = "", start
    if start > 0 and text[start - 1] == "." and (start == 1 or not _joins(text[start - 2])):
        lead, first = "0.", start - 1
    if first > 0 and text[first - 1] in _SIGNS and (first == 1 or _opens(text[first - 2])):
        return start - first + 1, ("" if text[first - 1] == "+" else "-") + lead
    return start - first, lead


def _joins(char: str) -> bool:
    return char.isalnum() or char in "._"


def _opens(char: str) -> bool:
    """Whether a minus after this character is a sign and not a hyphen or a dash of a range."""
    return char.isspace() or char in "([{<>=≈~:;,/|$€£\"'“‘«"


def _numbers_of(chunk: str, start: int, lead_length: int, lead: str) -> Iterator[Number]:
    """Split digits with points and commas between them: one grouped number, one decimal, or a list."""
    if lead.endswith("0.") and not chunk.isdecimal():
        lead, lead_length = "", 0
    pieces = [chunk] if _GROUPED.fullmatch(chunk) and not lead.endswith(".") else chunk.split(",")
    at = start
    for position, piece in enumerate(pieces):
        if piece.count(".") <= 1:
            before, length = (lead, lead_length) if position == 0 else ("", 0)
            yield Number(Decimal(before + piece.replace(",", "")), at - length, at + len(piece))
        at += len(piece) + 1

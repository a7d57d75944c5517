"""Strings that look personal: e-mail addresses, phone numbers, card numbers, US social security numbers, IP addresses.

They are counted, never kept or shown. "Look like" is meant: a version number may look like an IP address. Two sieves
leave few texts to be searched in detail: one over bytes (most text has no @, and no digits on both sides of a dash, dot
or space), one combined pattern.
"""

from __future__ import annotations

import re
from collections import Counter
from ipaddress import AddressValueError, IPv4Address

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from faithline.noise.text.faults import Fault, Faults
from faithline.noise.text.hashing import string_bytes

__all__ = ["KINDS", "luhn", "personal"]

KINDS = (Fault.EMAIL, Fault.PHONE, Fault.CARD, Fault.SOCIAL_SECURITY, Fault.IP_ADDRESS)

# A superset of the patterns below, in RE2's syntax.
_CANDIDATE = (
    r"@[A-Za-z0-9-]+\.[A-Za-z0-9-]"
    r"|[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]"
    r"|[0-9]{3}[-. )]{1,2}[0-9]{2,4}[-. ]?[0-9]{4}"
    r"|\+[0-9][0-9 ().-]{6}"
    r"|[0-9](?:[ -]?[0-9]){12}"
)

_PATTERNS = {
    kind: re.compile(pattern, re.ASCII)
    for kind, pattern in {
        Fault.EMAIL: r"[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}\b",
        Fault.PHONE: (
            r"(?<![\w.-])(?:\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]?\d{2,4}){2,4}"  # international
            r"|(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[-. ])\d{3}[-. ]\d{4})(?![\w-])"  # North American
        ),
        Fault.CARD: r"(?<![\w.-])[2-6](?:[ -]?\d){12,18}(?![\w-])",
        Fault.SOCIAL_SECURITY: r"(?<![\w-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])",
        Fault.IP_ADDRESS: r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w]|\.\d)",
    }.items()
}


def personal(texts: pa.Array) -> tuple[Faults, Counter[Fault]]:
    """Find texts with strings that look personal.

    Returns:
        faults: Bits of the kinds found, shape (n,).
        strings: How many strings of each kind were found.
    """
    faults = np.zeros(len(texts), dtype=np.uint32)
    strings: Counter[Fault] = Counter()
    rows = _sieved(texts)
    rows = rows[np.asarray(pc.match_substring_regex(texts.take(pa.array(rows)), _CANDIDATE), dtype=np.bool_)]
    for row, text in zip(rows.tolist(), texts.take(pa.array(rows)).to_pylist(), strict=True):
        for kind in KINDS:
            found = sum(_plausible(kind, match.group()) for match in _PATTERNS[kind].finditer(text))
            if found:
                strings[kind] += found
                faults[row] |= np.uint32(1 << kind)
    return faults, strings


def _sieved(texts: pa.Array) -> npt.NDArray[np.int64]:
    """Return the rows whose bytes do not rule all kinds out (0.5 ns a byte; the pattern alone takes 3)."""
    data, offsets = string_bytes(texts)
    digit = (data - np.uint8(ord("0"))) < np.uint8(10)
    joint = data == np.uint8(ord("-"))
    joint |= data == np.uint8(ord("."))
    joint |= data == np.uint8(ord(" "))
    found = [
        np.flatnonzero(data == np.uint8(ord("@"))),
        np.flatnonzero((data[:-1] == np.uint8(ord("+"))) & digit[1:]),
        np.flatnonzero(digit[:-2] & joint[1:-1] & digit[2:]),
        # A run of 13 digits has these five; what else has them is sorted out by the pattern.
        np.flatnonzero(digit[:-12] & digit[3:-9] & digit[6:-6] & digit[9:-3] & digit[12:]),
    ]
    return np.unique(np.searchsorted(offsets, np.concatenate(found), side="right") - 1)


def luhn(digits: str) -> bool:
    """Say whether the last digit is the check digit of the others (ISO/IEC 7812-1)."""
    doubled = [int(digit) * (2 if place % 2 else 1) for place, digit in enumerate(reversed(digits))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def _plausible(kind: Fault, found: str) -> bool:
    if kind == Fault.CARD:
        digits = re.sub(r"\D", "", found)
        return luhn(digits) and len(set(digits)) > 1
    if kind == Fault.IP_ADDRESS:
        try:
            IPv4Address(found)
        except AddressValueError:
            return False
    return True

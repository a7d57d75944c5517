"""When two answers are the same number.

`canonical` compares exact values of the one grammar in `faithline.agents.march.numbers`; a text outside it equals
nothing, itself included. `release` is the comparator of MARCH's released code, kept for ablation: the characters
% k K w W and commas are deleted, equal strings are equal whatever they are; then both are read as float if they hold a
point, else as int; two ints must be equal, anything else less than 0.1 apart. So it takes 0.05 for 0.09, 50 for 50.05,
10k for 10 and `Cannot answer` for `Cannot answer`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from faithline.agents.march.numbers import parse_number

__all__ = ["Comparator", "matcher", "same"]

Comparator = Literal["canonical", "release"]

_DELETED = str.maketrans("", "", "%kKwW,")
_TOLERANCE = 0.1


def same(left: str, right: str, comparator: Comparator) -> bool:
    """Whether two answers are the same number."""
    return matcher(left, comparator)(right)


def matcher(answer: str, comparator: Comparator) -> Callable[[str], bool]:
    """Prepare one answer for comparison with several others."""
    if comparator == "release":
        return partial(_release, answer.strip().translate(_DELETED))
    value = parse_number(answer)
    return lambda other: value is not None and parse_number(other) == value


def _release(cleaned: str, other: str) -> bool:
    cleaned_other = other.strip().translate(_DELETED)
    if cleaned == cleaned_other:
        return True
    left, right = _read(cleaned), _read(cleaned_other)
    if left is None or right is None:
        return False
    if isinstance(left, int) and isinstance(right, int):
        return left == right
    try:
        return abs(float(left) - float(right)) < _TOLERANCE
    except OverflowError:  # an int beyond every float
        return False


def _read(text: str) -> int | float | None:
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return None

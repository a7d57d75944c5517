"""What became of a text that a role wrote, and what of it counts as text."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Outcome", "has_text", "reasoning_is_sound", "strip_reasoning"]

_OPEN, _CLOSE = "<think>", "</think>"


class Outcome(StrEnum):
    """What became of one text."""

    OK = "ok"
    """It follows the role's grammar."""
    MALFORMED = "malformed"
    """There is text, but nothing that the grammar lets us use."""
    EMPTY = "empty"
    """Nothing visible; of a Proposer also the agreed words for "no number here"."""
    COUNT_MISMATCH = "count_mismatch"
    """Of a Checker: usable, but the items are not exactly those asked for."""


def strip_reasoning(text: str) -> str:
    """Leave out a reasoning block.

    Args:
        text: What a model wrote.

    Returns:
        What follows the block if the text has exactly one `<think>…</think>`, else the text as it is.
    """
    if text.count(_OPEN) == text.count(_CLOSE) == 1 and text.index(_OPEN) < text.index(_CLOSE):
        return text.partition(_CLOSE)[2].strip()
    return text


def reasoning_is_sound(text: str) -> bool:
    """Whether the text has no reasoning tags, or exactly one closed block."""
    return _OPEN not in (rest := strip_reasoning(text)) and _CLOSE not in rest


def has_text(text: str) -> bool:
    """Whether a text shows anything: white space, control and zero-width characters do not count."""
    return any(char.isprintable() and char != " " for char in text)

"""A passage as the roles see it: one evidence document, shown as one line of a prompt.

Owns the rule that keeps data from becoming structure: every run of white space (line breaks of any kind included) in a
title or text becomes one space, so a passage can never start a line of its own, and a label at the start of a line
(`Document-2 (...)`, `Question:`) is always ours. Control tokens in the text are the tokeniser's affair
(`faithline.lm.chat`). Nothing here is ever parsed back out of a prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Passage", "block", "one_line"]


@dataclass(frozen=True)
class Passage:
    """One evidence document."""

    document_id: str
    """Identity in data/prepared; never shown to the model."""
    title: str
    """May be empty."""
    text: str
    """Body, in the source's own form."""

    @property
    def full_text(self) -> str:
        """Title and body: where to look for what a document states."""
        return f"{self.title}\n{self.text}"


def one_line(text: str) -> str:
    """Collapse every run of white space to one space and strip the ends."""
    return " ".join(text.split())


def block(passages: Sequence[Passage]) -> str:
    """Render passages as the lines `Document-1 (title): text` .. `Document-K (title): text`.

    Returns:
        One line per passage, in the given order; the line `(no documents)` when there are none.
    """
    if not passages:
        return "(no documents)"
    lines = []
    for number, passage in enumerate(passages, start=1):
        title = one_line(passage.title)
        head = f"Document-{number} ({title}):" if title else f"Document-{number}:"
        lines.append(f"{head} {one_line(passage.text)}".rstrip())
    return "\n".join(lines)

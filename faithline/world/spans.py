"""Responses under construction: text that grows by pieces, with labels on the hallucinated ones.

Label types and their fields are RAGTruth's. A conflict contradicts the source; baseless information has no ground in
it. "Evident" ones replace or add a plain fact; "subtle" ones are off by little, or add a shade of meaning.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

__all__ = ["Draft", "LabelType", "Span"]


class LabelType(StrEnum):
    """RAGTruth's four label types."""

    EVIDENT_CONFLICT = "Evident Conflict"
    SUBTLE_CONFLICT = "Subtle Conflict"
    EVIDENT_BASELESS = "Evident Baseless Info"
    SUBTLE_BASELESS = "Subtle Baseless Info"


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """A hallucinated stretch of a response; offsets count characters."""

    start: int
    end: int
    text: str
    meta: str
    label_type: LabelType
    implicit_true: bool
    """Whether it happens to be true in the world, though the source does not say so."""
    due_to_null: bool
    """Whether it reads a null of a structured source as a value."""


class Draft:
    """A response being written."""

    def __init__(self) -> None:
        self.text = ""
        self.spans: list[Span] = []

    def add(self, text: str) -> None:
        """Append text that the source supports, or that claims nothing."""
        self.text += text

    def add_wrong(
        self, text: str, kind: LabelType, original: str, *, implicit_true: bool = False, due_to_null: bool = False
    ) -> None:
        """Append hallucinated text and label it.

        Args:
            text: The words, all of which are labelled.
            kind: Label type.
            original: What the source says instead, for the annotator's note.
            implicit_true: See `Span`.
            due_to_null: See `Span`.
        """
        start = len(self.text)
        self.text += text
        span = Span(
            start=start,
            end=len(self.text),
            text=text,
            meta=f"{kind.value.upper()}\nOriginal: {original}\nGenerative: {text}",
            label_type=kind,
            implicit_true=implicit_true,
            due_to_null=due_to_null,
        )
        self.spans.append(span)

    def cut(self, length: int) -> None:
        """Drop what follows `length` characters, and a labelled stretch that would be cut in two."""
        self.spans = [span for span in self.spans if span.start < length]
        if self.spans and self.spans[-1].end > length:
            length = self.spans.pop().start
        self.text = self.text[:length].rstrip()

"""Passages and sentences: text together with the facts it states."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from faithline.world.facts import Entity, Fact

__all__ = ["Passage", "Role", "Sentence"]


class Role(StrEnum):
    """Why a passage was written."""

    MAIN = "main"
    """The one passage in which a subject's stated facts are found."""
    NEAR_DUPLICATE = "near_duplicate"
    """Says the same as a main passage, in other words."""
    OUTDATED = "outdated"
    """States an older value, dated."""
    CONFLICTING = "conflicting"
    """Quotes a wrong value and says that it was withdrawn."""


class Sentence(msgspec.Struct, frozen=True, gc=False):
    """A sentence."""

    text: str
    facts: tuple[Fact, ...]
    """What it states; empty for sentences that only fill."""


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """A short document about one subject."""

    title: str
    sentences: tuple[Sentence, ...]
    subject: Entity
    genre: str
    role: Role

    @property
    def text(self) -> str:
        """The body: sentences joined by single spaces."""
        return " ".join(sentence.text for sentence in self.sentences)

    @property
    def facts(self) -> list[Fact]:
        """All facts it states, in order."""
        return [fact for sentence in self.sentences for fact in sentence.facts]

    def states(self, fact: Fact) -> bool:
        """Whether it states this very fact (an older value of the same attribute is another fact)."""
        return any(
            stated.key == fact.key and stated.current == fact.current
            for sentence in self.sentences
            for stated in sentence.facts
        )

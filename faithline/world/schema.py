"""What kinds of thing the world holds, what can be said about them, and every way of saying it.

An `Attribute` belongs to one entity type and carries its own language: statements, dated older statements, questions,
noun phrases for chaining, claims with their denials, comparisons. The wording lives in `faithline.world.vocabulary`;
nothing else in the package knows English about an attribute.

Slots in templates: {S} subject, {P} its possessive, {O} the subject in object position, {v} value, {y} year of the
record, {s} name or noun phrase asked about, {a} and {b} two of them. Statements start in lower case and carry no full
stop. A statement that starts with "{S} " may be joined with another one of the same subject.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

__all__ = ["Attribute", "Contrast", "EntityType", "Kind", "Pronoun", "listed"]

Pronoun = Literal["it", "she", "he"]


def listed(text: str) -> tuple[str, ...]:
    """The items of a comma-separated list."""
    return tuple(text.split(", "))


class Kind(StrEnum):
    """What a value is."""

    NUMBER = "number"
    YEAR = "year"
    DATE = "date"
    WORD = "word"
    NAME = "name"
    """Another entity: the attribute is a relation."""


@dataclass(frozen=True, eq=False, kw_only=True)
class EntityType:
    """A type of entity."""

    name: str
    noun: str
    """What one calls it in prose: "town"."""
    plural: str
    leads: tuple[str, ...]
    """First sentences that name the entity and state no fact. Slots: {N} name, {n} name at the start of a sentence,
    {a_noun}, {region}."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Contrast:
    """How two values of an attribute are compared. `more` means the larger number or the later date."""

    more: str
    """Verb phrase without object: "has more inhabitants"."""
    less: str
    check: str
    """Yes/no question that is true if {a} is `more` than {b}."""
    gap: str = ""
    """Question for the difference of two numbers, or the years between; empty if nobody would ask."""
    total: str = ""
    """Question for the sum of two numbers; empty if nobody would ask."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Attribute:
    """A functional attribute: each subject has exactly one current value."""

    name: str
    subject: str
    """Name of the entity type it belongs to."""
    kind: Kind
    says: tuple[str, ...]
    """Statements of the current value."""
    label: str
    """Head word in register style; "{label}: {v}." states the value."""
    asks: tuple[str, ...]
    claims: tuple[tuple[str, str], ...]
    """(claim, denial) pairs: the shortest full statement and its negation, without {y}."""
    words: tuple[str, ...] = ()
    """What the value of a word attribute can be."""
    noun: tuple[str, ...] = ()
    """Noun phrases that stand for the value of {s}; relations have at least one."""
    target: str = ""
    """Entity type of the value of a relation."""
    unit: str = ""
    """Unit of a number, in words, as it follows the number; empty for counts."""
    past: tuple[str, ...] = ()
    """Statements of an older value, dated {y}; empty if the value never changes."""
    asks_past: tuple[str, ...] = ()
    role: str = ""
    """Short noun of a relation: "mayor"."""
    same: str = ""
    """Yes/no question whether {a} and {b} share the value."""
    lists: str = ""
    """Question for all subjects that stand in the relation to {s}."""
    contrast: Contrast | None = None

    @property
    def varies(self) -> bool:
        """Whether the value changes over time, so that every statement of it is dated."""
        return bool(self.past)

    @property
    def is_event(self) -> bool:
        """Whether the value says when something happened."""
        return self.kind in (Kind.YEAR, Kind.DATE)

"""Entities, facts and clusters: the fact table that everything else is said about.

A cluster is one region (or one field of medicine): a few dozen entities whose relations stay inside it. Every entity
has exactly one current fact per attribute of its type, and for attributes that vary one older fact.
"""

from __future__ import annotations

from datetime import date
from typing import TypeAlias

import msgspec

from faithline.world.schema import Attribute, Kind, Pronoun

__all__ = ["Cluster", "Entity", "Fact", "Key", "Value"]


class Entity(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A thing with a name."""

    key: int
    """Number inside its cluster; former office holders, who have no facts, are numbered after the entities."""
    type: str
    name: str
    pronoun: Pronoun
    article: str = ""
    """"the " if the name is used with the article."""
    noun: str = ""
    """What prose calls it: "town", "company"."""

    @property
    def mention(self) -> str:
        """The name as it stands inside a sentence."""
        return self.article + self.name


Value: TypeAlias = int | str | date | Entity

Key: TypeAlias = tuple[int, str]
"""(subject key, attribute name)."""


class Fact(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The subject has this value of the attribute."""

    subject: Entity
    attribute: Attribute
    value: Value
    year: int = 0
    """Of a value that varies: the year of the record; of an older value, the year it was taken or ended."""
    current: bool = True

    @property
    def key(self) -> Key:
        """What the fact is about."""
        return self.subject.key, self.attribute.name

    @property
    def kind(self) -> Kind:
        """What its value is."""
        return self.attribute.kind

    @property
    def unit(self) -> str:
        """Unit of a number, in words."""
        return self.attribute.unit

    @property
    def number(self) -> int:
        """The value of a number or year; of a date its day number, so that later is more.

        Raises:
            TypeError: If the value has no order.
        """
        if isinstance(self.value, date):
            return self.value.toordinal()
        if isinstance(self.value, int):
            return self.value
        raise TypeError(f"the attribute {self.attribute.name} has no order")


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is true in one part of the world."""

    number: int
    """Its number in the world, over all streams."""
    region: str
    """Phrase for leads: "the Orluvik Valley"."""
    entities: tuple[Entity, ...]
    facts: dict[Key, Fact]
    """Current facts."""
    past: dict[Key, Fact]
    """For each fact whose attribute varies, one older fact."""

    def of(self, entity: Entity) -> list[Fact]:
        """Current facts of an entity."""
        return [fact for fact in self.facts.values() if fact.subject.key == entity.key]

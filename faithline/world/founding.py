"""What every kind of cluster under construction can do: take stems, add entities and facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from faithline.world.draws import Draws
from faithline.world.facts import Cluster, Entity, Fact, Key, Value
from faithline.world.names import Stems
from faithline.world.schema import Pronoun
from faithline.world.vocabulary import ATTRIBUTES, TYPES

if TYPE_CHECKING:
    from faithline.world.households import People

__all__ = ["Founding"]

_LATEST_RECORDS = (2016, 2023)
"""Years in which current values were last recorded, and incumbents at the latest took office."""
_OLDER_RECORDS = (1974, 2003)


class Founding:
    """A cluster under construction; a kind of cluster derives from it and calls its methods in a fixed order."""

    people: People

    def __init__(self, number: int, stems: Stems, first_stem: int, draws: Draws) -> None:
        self.draws = draws
        self.region = ""
        self._number = number
        self._stems = stems
        self._next_stem = first_stem
        self.entities: list[Entity] = []
        self._facts: dict[Key, Fact] = {}
        self._past: dict[Key, Fact] = {}

    def finish(self) -> Cluster:
        """The finished cluster."""
        return Cluster(
            number=self._number,
            region=self.region,
            entities=tuple(self.entities),
            facts=self._facts,
            past=self._past,
        )

    def stem(self) -> str:
        """A stem nothing else in the world has."""
        self._next_stem += 1
        return self._stems[self._next_stem - 1]

    def entity(self, kind: str, name: str, article: str = "", *, noun: str = "", pronoun: Pronoun = "it") -> Entity:
        """Add an entity."""
        entity = Entity(
            key=len(self.entities),
            type=kind,
            name=name,
            pronoun=pronoun,
            article=article,
            noun=noun or TYPES[kind].noun,
        )
        self.entities.append(entity)
        return entity

    def add(self, subject: Entity, attribute: str, value: Value, year: int = 0) -> None:
        """Add a current fact."""
        fact = Fact(subject=subject, attribute=ATTRIBUTES[attribute], value=value, year=year)
        self._facts[subject.key, attribute] = fact

    def add_word(self, subject: Entity, attribute: str) -> None:
        """Add one of the words that the attribute can have."""
        self.add(subject, attribute, self.draws.choice(ATTRIBUTES[attribute].words))

    def add_past(self, subject: Entity, attribute: str, value: Value, year: int) -> None:
        """Add the older fact of an attribute that varies."""
        fact = Fact(subject=subject, attribute=ATTRIBUTES[attribute], value=value, year=year, current=False)
        self._past[subject.key, attribute] = fact

    def add_counted(self, subject: Entity, attribute: str, count: int) -> None:
        """Add a number from a dated count, and the different number of an older count."""
        self.add(subject, attribute, count, self.draws.between(*_LATEST_RECORDS))
        older = count
        while older == count:
            percent = self.draws.between(40, 165)
            older = max(2, count * percent // 100 + self.draws.below(7))
        self.add_past(subject, attribute, older, self.draws.between(*_OLDER_RECORDS))

    def add_office(self, subject: Entity, attribute: str, *, not_before: int = 0) -> None:
        """Add an incumbent who holds no other office, and the predecessor, who left when the incumbent began."""
        year = max(self.draws.between(*_LATEST_RECORDS), not_before)
        self.add(subject, attribute, self.people.incumbent(), year)
        self.add_past(subject, attribute, self.people.former(), year)

    def year_of(self, subject: Entity, attribute: str) -> int:
        """The year, already added, of an event."""
        return self._facts[subject.key, attribute].number

    def numbers(self, count: int, low: int, high: int) -> list[int]:
        """`count` different numbers in [low, high], log-uniform."""
        drawn: dict[int, None] = {}
        while len(drawn) < count:
            drawn[self.draws.scaled(low, high)] = None
        return list(drawn)

"""The people of a region: two families of three generations, and others who hold its offices.

A family: two couples of grandparents (dead), a couple of parents, one grown child. The grandparents and parents are the
elders, who found, make, design and climb things. Marriage is stated of one spouse only, so that it has one source.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from faithline.world.facts import Entity
from faithline.world.names import GIVEN_NAMES
from faithline.world.schema import Pronoun

if TYPE_CHECKING:
    from faithline.world.founding import Founding

__all__ = ["People"]

_UNRELATED = 15
_FORMER_KEYS = 1000
"""Former office holders, who are named but have no facts, are numbered from here."""


class People:
    """The people of one region under construction."""

    def __init__(self, founding: Founding, latest_year: int) -> None:
        self.elders: list[Entity] = []
        """Those who can have founded or made something long ago."""
        self._founding = founding
        self._latest_year = latest_year
        self._draws = founding.draws
        self._given = iter(founding.draws.shuffled(GIVEN_NAMES))
        self._born: dict[int, date] = {}
        self._died: dict[int, date] = {}
        self._families: list[str] = []
        self._former = _FORMER_KEYS
        self._couples: list[tuple[Entity, Entity]] = []
        self._parents: list[tuple[Entity, Entity, Entity]] = []
        living = [self._family() for _ in range(2)]
        for index in range(_UNRELATED):
            family = founding.stem() if index % 2 == 0 else self._families[-1]
            living.append(self._person(family, self._draws.choice(("she", "he")), (1952, 1990), family_known=index % 2))
        self._living = iter(self._draws.shuffled(living))

    def settle(self, towns: list[Entity], institutes: list[Entity]) -> None:
        """Add the facts of everybody, once there are places to be born and to study in."""
        add, draws = self._founding.add, self._draws
        for person in self._everybody:
            add(person, "born", self._born[person.key])
            add(person, "birthplace", draws.choice(towns))
            self._founding.add_word(person, "profession")
            add(person, "studied_at", draws.choice(institutes))
            if person.key in self._died:
                add(person, "died", self._died[person.key])
            else:
                old, new = draws.sample(towns, 2)
                year = draws.between(2005, self._latest_year)
                add(person, "residence", new, year)
                self._founding.add_past(person, "residence", old, year)
        for child, father, mother in self._parents:
            add(child, "father", father)
            add(child, "mother", mother)
        for one, other in self._couples:
            first, second = draws.shuffled((one, other))
            add(first, "spouse", second)

    def year_in_life(self, person: Entity) -> int:
        """A year between the person's 24th and 60th, before death."""
        born = self._born[person.key].year
        end = self._died[person.key].year - 1 if person.key in self._died else self._latest_year
        return self._draws.between(born + 24, min(born + 60, end))

    def incumbent(self) -> Entity:
        """A living person who holds no office yet."""
        return next(self._living)

    def former(self) -> Entity:
        """Somebody who once held an office; known by name only."""
        self._former += 1
        pronoun: Pronoun = "she" if self._draws.chance(0.5) else "he"
        return Entity(
            key=self._former,
            type="person",
            name=f"{next(self._given)} {self._draws.choice(self._families)}",
            pronoun=pronoun,
            noun="person",
        )

    def _family(self) -> Entity:
        """Add three generations and return the grown child."""
        stem = self._founding.stem
        couples = []
        for _ in range(2):
            name = stem()
            couples.append((self._elder(name, "he", (1896, 1915)), self._elder(stem(), "she", (1900, 1918))))
            self._couples.append(couples[-1])
        father = self._person(couples[0][0].name.split()[1], "he", (1936, 1948), family_known=True)
        mother = self._person(couples[1][0].name.split()[1], "she", (1938, 1949), family_known=True)
        child = self._person(father.name.split()[1], self._draws.choice(("she", "he")), (1968, 1985), family_known=True)
        self._couples.append((father, mother))
        self.elders += [father, mother]
        self._parents += [(father, *couples[0]), (mother, *couples[1]), (child, father, mother)]
        return child

    def _elder(self, family: str, pronoun: Pronoun, years: tuple[int, int]) -> Entity:
        person = self._person(family, pronoun, years, family_known=False)
        self._died[person.key] = self._some_day(1962, 1994)
        self.elders.append(person)
        return person

    def _person(self, family: str, pronoun: Pronoun, years: tuple[int, int], *, family_known: bool | int) -> Entity:
        if not family_known:
            self._families.append(family)
        person = self._founding.entity("person", f"{next(self._given)} {family}", pronoun=pronoun)
        self._born[person.key] = self._some_day(*years)
        return person

    @property
    def _everybody(self) -> list[Entity]:
        return [entity for entity in self._founding.entities if entity.type == "person"]

    def _some_day(self, first_year: int, last_year: int) -> date:
        draws = self._draws
        return date(draws.between(first_year, last_year), draws.between(1, 12), draws.between(1, 28))

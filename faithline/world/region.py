"""Building a region: its landscape, people, companies, institutes, museums, festivals, works of art, ships, bridges.

The order of events is sound: founders, makers and first climbers were adults who were alive, children are younger than
their parents, offices are held by the living, one office a person. Numbers are drawn log-uniformly and never repeat
within an attribute, so comparisons have no ties.
"""

from __future__ import annotations

from datetime import date

from faithline.world.draws import Draws
from faithline.world.facts import Cluster, Entity
from faithline.world.founding import Founding
from faithline.world.households import People
from faithline.world.names import Stems
from faithline.world.schema import listed

__all__ = ["LATEST_YEAR", "STEMS_PER_REGION", "build_region"]

LATEST_YEAR = 2023
"""The last year of which the world has news."""
STEMS_PER_REGION = 56
_ANCIENT = 1120

_LANDS = listed("Uplands, Valley, Coast, Marshes, Lowlands, Hills, Peninsula, Moors")
_COMPANIES = listed("Works, Mills, Foundry, Brothers, Yards, Manufacturing, Workshops, Industries")
_INSTITUTES = listed("Institute, Academy, College, Polytechnic, Seminary")
_MUSEUMS = listed("Museum, Gallery, Collection, Cabinet")
_FESTIVALS = ("Lantern Festival", "Fair", "Music Days", "Harvest Festival", "Regatta", "Book Week", "Carnival")
_WORKS = listed(
    "Lantern, Orchard, Harbour, Winter, Garden, Staircase, Ferryman, Clock, Mirror, Shepherd, Lighthouse, Weaver"
)
_WORK_NOUNS = ("sculpture", "carving", "statue", "relief")
_SHIP_PREFIXES = ("MS", "MV")


def build_region(number: int, stems: Stems, first_stem: int, draws: Draws) -> Cluster:
    """Make the region with this number.

    Args:
        number: Number of the cluster in the world.
        stems: The world's stems.
        first_stem: Number of the first of the `STEMS_PER_REGION` stems that are its own.
        draws: The cluster's draws.
    """
    return _Region(number, stems, first_stem, draws).build()


class _Region(Founding):
    """One region under construction."""

    def build(self) -> Cluster:
        self.region = f"the {self.stem()} {self.draws.choice(_LANDS)}"
        self.people = People(self, LATEST_YEAR)
        self._name_places()
        self.people.settle(self.towns, self.institutes)
        self._landscape()
        self._towns()
        self._companies()
        self._institutes()
        self._museums_and_festivals()
        self._works()
        self._ships()
        self._bridges()
        return self.finish()

    def _name_places(self) -> None:
        draws = self.draws
        self.towns = [self.entity("town", self.stem()) for _ in range(6)]
        self.rivers = [self.entity("river", f"{self.stem()} River", "the ") for _ in range(3)]
        self.mountains = [self.entity("mountain", f"Mount {self.stem()}") for _ in range(3)]
        self.companies = [self.entity("company", f"{self.stem()} {draws.choice(_COMPANIES)}") for _ in range(4)]
        self.institutes = [
            self.entity("institute", f"{self.stem()} {draws.choice(_INSTITUTES)}", "the ") for _ in range(4)
        ]
        self.museums = [self.entity("museum", f"{self.stem()} {draws.choice(_MUSEUMS)}", "the ") for _ in range(3)]

    def _landscape(self) -> None:
        draws = self.draws
        for mountain, height in zip(self.mountains, self.numbers(3, 640, 4900), strict=True):
            climber = draws.choice(self.people.elders)
            self.add(mountain, "height", height)
            self.add(mountain, "first_climbed", self.people.year_in_life(climber))
            self.add(mountain, "first_climber", climber)
            self.add(mountain, "nearest_town", draws.choice(self.towns))
            self.add_word(mountain, "rock")
        discharges = self.numbers(3, 12, 900)
        for river, length, discharge in zip(self.rivers, self.numbers(3, 38, 980), discharges, strict=True):
            mapper = draws.choice(self.people.elders)
            self.add(river, "river_length", length)
            self.add(river, "source", draws.choice(self.mountains))
            self.add(river, "river_mapper", mapper)
            self.add(river, "river_mapped", self.people.year_in_life(mapper))
            self.add(river, "discharge", discharge)

    def _towns(self) -> None:
        draws = self.draws
        elevations = self.numbers(6, 14, 1400)
        for town, population, elevation in zip(self.towns, self.numbers(6, 900, 480_000), elevations, strict=True):
            self.add_counted(town, "population", population)
            self.add(town, "town_charter", draws.between(_ANCIENT, 1840))
            self.add(town, "elevation", elevation)
            self.add_office(town, "mayor")
            self.add(town, "town_river", draws.choice(self.rivers))
            self.add_word(town, "craft")
            self.add_word(town, "market_day")

    def _companies(self) -> None:
        for company, employees in zip(self.companies, self.numbers(4, 24, 18_000), strict=True):
            founder = self.draws.choice(self.people.elders)
            self.add(company, "established", self.people.year_in_life(founder))
            self.add(company, "founder", founder)
            self.add(company, "headquarters", self.draws.choice(self.towns))
            self.add_counted(company, "employees", employees)
            self.add_office(company, "chief")
            self.add_word(company, "product")

    def _institutes(self) -> None:
        for institute, students in zip(self.institutes, self.numbers(4, 90, 24_000), strict=True):
            self.add(institute, "institute_founded", self.draws.between(1780, 1905))
            self.add_office(institute, "director")
            self.add(institute, "institute_town", self.draws.choice(self.towns))
            self.add_word(institute, "field")
            self.add_counted(institute, "students", students)

    def _museums_and_festivals(self) -> None:
        draws = self.draws
        rooms = self.numbers(3, 4, 68)
        for museum, visitors, count in zip(self.museums, self.numbers(3, 2_000, 600_000), rooms, strict=True):
            self.add(museum, "museum_opened", draws.between(1890, 2004))
            self.add(museum, "museum_town", draws.choice(self.towns))
            self.add_counted(museum, "museum_visitors", visitors)
            self.add(museum, "rooms", count)
        for visitors in self.numbers(3, 800, 300_000):
            festival = self.entity("festival", f"{self.stem()} {draws.choice(_FESTIVALS)}", "the ")
            self.add(festival, "first_held", draws.between(1880, 1990))
            self.add(festival, "festival_town", draws.choice(self.towns))
            self.add_counted(festival, "festival_visitors", visitors)
            self.add_word(festival, "month")

    def _works(self) -> None:
        draws = self.draws
        for weight in self.numbers(4, 3, 2_400):
            title = f"The {draws.choice(_WORKS)} of {self.stem()}"
            work = self.entity("work", title, noun=draws.choice(_WORK_NOUNS))
            maker = draws.choice(self.people.elders)
            self.add(work, "completed", self.people.year_in_life(maker))
            self.add(work, "maker", maker)
            self.add(work, "kept_in", draws.choice(self.museums))
            self.add_word(work, "material")
            self.add(work, "weight", weight)

    def _ships(self) -> None:
        draws = self.draws
        cabins = self.numbers(3, 6, 940)
        for length, count in zip(self.numbers(3, 31, 290), cabins, strict=True):
            ship = self.entity("ship", f"{draws.choice(_SHIP_PREFIXES)} {self.stem()}", "the ")
            builder = draws.choice(self.companies)
            year = min(max(self.year_of(builder, "established") + 2, 1990) + draws.below(20), LATEST_YEAR)
            self.add(ship, "launched", date(year, draws.between(1, 12), draws.between(1, 28)))
            self.add(ship, "ship_length", length)
            self.add(ship, "builder", builder)
            self.add(ship, "home_port", draws.choice(self.towns))
            self.add_office(ship, "captain", not_before=year)
            self.add(ship, "cabins", count)

    def _bridges(self) -> None:
        for length in self.numbers(3, 22, 2_900):
            bridge = self.entity("bridge", f"{self.stem()} Bridge", "the ")
            designer: Entity = self.draws.choice(self.people.elders)
            self.add(bridge, "bridge_length", length)
            self.add(bridge, "bridge_opened", self.people.year_in_life(designer))
            self.add(bridge, "crosses", self.draws.choice(self.rivers))
            self.add(bridge, "bridge_designer", designer)

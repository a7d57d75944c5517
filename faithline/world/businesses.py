"""Invented businesses as structured records, for data-to-text responses.

A record has the fields of the Yelp records that RAGTruth uses. Each `Trait` is one thing that can be said about it,
with the sentence that says it right, one that says it wrong, and the words that are wrong in that one.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from faithline.world.draws import Draws
from faithline.world.library import Library
from faithline.world.schema import listed

__all__ = ["Business", "Record", "Trait", "make_business"]

Record: TypeAlias = dict[str, object]

_SORTS = (
    "Bakery",
    "Tea House",
    "Fish Restaurant",
    "Noodle Bar",
    "Pancake House",
    "Brewery Inn",
    "Vegetarian Restaurant",
)
_STREETS = listed("Mill Lane, Harbour Street, Chapel Road, Station Square, Orchard Way, Tanner Row, Bridge Street")
_DISHES = listed("plum dumplings, barley soup, smoked trout, rye bread, cheese pie, ginger cake, mushroom stew, cider")
_PRAISE = ("Go there for the {dish}.", "We came for the {dish} and were not let down.", "Order the {dish}.")
_BLAME = ("The service was slow.", "It was too loud for us.", "The tables stand very close together.")
_DAYS = listed("Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday")
_FLAGS = {
    "RestaurantsReservations": ("takes reservations", "does not take reservations"),
    "OutdoorSeating": ("offers outdoor seating", "does not offer outdoor seating"),
    "RestaurantsTakeOut": ("sells food to take away", "does not sell food to take away"),
    "RestaurantsGoodForGroups": ("suits larger groups", "does not suit larger groups"),
}
_WIFI = {"free": "offers free Wi-Fi", "paid": "offers Wi-Fi for a fee", "no": "has no Wi-Fi"}


class Trait(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to say about a business; sentences are in three parts, the middle one being what can be wrong."""

    before: str
    right: str
    wrong: str
    after: str
    field: str
    """Where the record holds it."""
    unknown: bool = False
    """The record's value is null, so `right` says nothing and `wrong` reads the null as "no"."""


class Business(msgspec.Struct, frozen=True, kw_only=True):
    """A record and what can be said about it."""

    record: Record
    traits: tuple[Trait, ...]


def make_business(library: Library, draws: Draws) -> Business:
    """Make a business in one of the library's towns."""
    towns = [entity for entity in library.cluster.entities if entity.type == "town"]
    town, other_town = draws.sample(towns, 2)
    stem = draws.choice([entity for entity in library.cluster.entities if entity.type == "person"]).name.split()[-1]
    sort, other_sort = draws.sample(_SORTS, 2)
    name = f"{stem} {sort}"
    street, other_street = draws.sample(_STREETS, 2)
    number = draws.between(1, 180)
    stars = draws.between(4, 10) / 2
    other_stars = draws.choice([half / 2 for half in range(4, 11) if half / 2 != stars])
    dish, other_dish = draws.sample(_DISHES, 2)
    hours, times = _hours(draws)
    flags, flag_traits = _flags(draws)
    wifi = draws.choice((*_WIFI, None))
    review = draws.choice(_PRAISE).format(dish=dish)
    record: Record = {
        "name": name,
        "address": f"{number} {street}",
        "city": town.name,
        "state": library.cluster.region.split()[1][:2].upper(),
        "categories": f"Restaurants, {sort}",
        "hours": hours,
        "attributes": {**flags, "WiFi": wifi},
        "business_stars": stars,
        "review_info": [
            {"review_stars": min(5.0, stars + 0.5), "review_date": f"{_day(draws)} 18:20:00", "review_text": review},
            {"review_stars": stars, "review_date": f"{_day(draws)} 12:05:00", "review_text": draws.choice(_BLAME)},
        ],
    }
    traits = [
        Trait(before=f"{name} is located in ", right=town.name, wrong=other_town.name, after=".", field="city"),
        Trait(before="It is listed as a ", right=sort, wrong=other_sort, after=".", field="categories"),
        Trait(
            before="The address is ",
            right=f"{number} {street}",
            wrong=f"{number} {other_street}",
            after=".",
            field="address",
        ),
        Trait(before="It is rated ", right=f"{stars}", wrong=f"{other_stars}", after=" stars.", field="business_stars"),
        Trait(before="A reviewer recommends the ", right=dish, wrong=other_dish, after=".", field="review_info"),
        times,
        *flag_traits,
    ]
    if wifi is not None:
        wrong = draws.choice([text for key, text in _WIFI.items() if key != wifi])
        traits.append(Trait(before="The house ", right=_WIFI[wifi], wrong=wrong, after=".", field="attributes.WiFi"))
    return Business(record=record, traits=tuple(traits))


def _hours(draws: Draws) -> tuple[dict[str, str], Trait]:
    closed = draws.choice(_DAYS)
    opens = draws.between(7, 11)
    closes = draws.between(17, 22)
    hours = {day: f"{opens}:0-{closes}:0" for day in _DAYS if day != closed}
    day = draws.choice(list(hours))
    wrong_closing = draws.choice([hour for hour in range(17, 24) if hour != closes])
    return hours, Trait(
        before=f"On {day} it is open from ",
        right=f"{opens}:00 to {closes}:00",
        wrong=f"{opens}:00 to {wrong_closing}:00",
        after=".",
        field=f"hours.{day}",
    )


def _flags(draws: Draws) -> tuple[dict[str, bool | None], list[Trait]]:
    flags: dict[str, bool | None] = {}
    traits = []
    for name, (yes, no) in _FLAGS.items():
        value = draws.choice((True, False, None))
        flags[name] = value
        right, wrong = ("", no) if value is None else (yes, no) if value else (no, yes)
        traits.append(
            Trait(
                before="The house ",
                right=right,
                wrong=wrong,
                after=".",
                field=f"attributes.{name}",
                unknown=value is None,
            )
        )
    return flags, traits


def _day(draws: Draws) -> str:
    return f"{draws.between(2018, 2023)}-{draws.between(1, 12):02d}-{draws.between(1, 28):02d}"

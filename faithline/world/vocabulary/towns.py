"""Towns."""

from __future__ import annotations

from faithline.world.schema import Attribute, Contrast, EntityType, Kind, listed

__all__ = ["ATTRIBUTES", "TYPES"]

TYPES = (
    EntityType(
        name="town",
        noun="town",
        plural="towns",
        leads=(
            "{n} is a town in {region}.",
            "{n} is one of the towns of {region}.",
            "In {region} lies the town of {N}.",
            "Few towns in {region} are as easy to reach as {N}.",
        ),
    ),
)

ATTRIBUTES = (
    Attribute(
        name="population",
        subject="town",
        kind=Kind.NUMBER,
        says=(
            "{S} has {v} inhabitants according to the latest count, taken in {y}",
            "the latest count, held in {y}, found {v} people living in {O}",
            "{P} population stood at {v} when it was last counted in {y}",
            "as of {y}, the year of the latest count, {v} people live in {O}",
        ),
        past=(
            "at the count of {y}, {S} had {v} inhabitants",
            "the {y} count found {v} people living in {O}",
            "in {y}, the population of {O} was still given as {v}",
        ),
        label="Inhabitants (latest count, {y})",
        asks=(
            "How many inhabitants does {s} have?",
            "How many people live in {s}?",
            "What is the population of {s}?",
        ),
        asks_past=(
            "How many inhabitants did {s} have in {y}?",
            "What was the population of {s} at the count of {y}?",
        ),
        claims=(
            ("{S} has {v} inhabitants", "{S} does not have {v} inhabitants"),
            ("the population of {O} is {v}", "the population of {O} is not {v}"),
        ),
        noun=("the population of {s}",),
        contrast=Contrast(
            more="has more inhabitants",
            less="has fewer inhabitants",
            check="Does {a} have more inhabitants than {b}?",
            gap="How many more inhabitants does {a} have than {b}?",
            total="How many inhabitants do {a} and {b} have together?",
        ),
    ),
    Attribute(
        name="town_charter",
        subject="town",
        kind=Kind.YEAR,
        says=(
            "{S} was founded in {v}",
            "{S} received its charter and was thereby founded in {v}",
            "settlers founded {O} in {v}",
            "{P} founding charter bears the year {v}",
        ),
        label="Founded",
        asks=("In which year was {s} founded?", "When was {s} founded?", "What is the founding year of {s}?"),
        claims=(
            ("{S} was founded in {v}", "{S} was not founded in {v}"),
            ("the founding of {O} took place in {v}", "the founding of {O} did not take place in {v}"),
        ),
        noun=("the founding of {s}",),
        contrast=Contrast(
            more="was founded later",
            less="was founded earlier",
            check="Was {a} founded later than {b}?",
            gap="How many years lie between the founding of {a} and the founding of {b}?",
        ),
    ),
    Attribute(
        name="elevation",
        subject="town",
        kind=Kind.NUMBER,
        unit="metres",
        says=(
            "{S} lies {v} metres above sea level",
            "{S} sits at an elevation of {v} metres",
            "{P} market square is {v} metres above sea level, which surveyors take as the elevation of the town",
            "surveyors give the elevation of {O} as {v} metres",
        ),
        label="Elevation in metres",
        asks=(
            "How many metres above sea level does {s} lie?",
            "What is the elevation of {s} in metres?",
            "At what elevation, in metres, does {s} lie?",
            "How many metres above sea level is {s}?",
        ),
        claims=(
            ("{S} lies {v} metres above sea level", "{S} does not lie {v} metres above sea level"),
            ("the elevation of {O} is {v} metres", "the elevation of {O} is not {v} metres"),
        ),
        noun=("the elevation of {s}",),
        contrast=Contrast(
            more="lies higher above sea level",
            less="lies lower above sea level",
            check="Does {a} lie higher above sea level than {b}?",
            gap="By how many metres does the elevation of {a} exceed that of {b}?",
        ),
    ),
    Attribute(
        name="mayor",
        subject="town",
        kind=Kind.NAME,
        target="person",
        role="mayor",
        says=(
            "{S} has been governed by mayor {v} since {y}",
            "{v} has been the mayor of {O} since {y}",
            "since {y}, the mayor of {O} has been {v}",
            "{P} current mayor, {v}, took office in {y}",
        ),
        past=(
            "{v} was the mayor of {O} until {y}",
            "until {y}, {S} was governed by mayor {v}",
            "the mayor of {O}, {v}, left office in {y}",
        ),
        label="Mayor (in office since {y})",
        asks=("Who is the mayor of {s}?", "Who is the current mayor of {s}?", "Which person is the mayor of {s}?"),
        asks_past=("Who was the mayor of {s} until {y}?", "Which mayor of {s} left office in {y}?"),
        claims=(
            ("the mayor of {O} is {v}", "the mayor of {O} is not {v}"),
            ("{v} is the mayor of {O}", "{v} is not the mayor of {O}"),
        ),
        noun=("the mayor of {s}", "the person who is mayor of {s}"),
    ),
    Attribute(
        name="town_river",
        subject="town",
        kind=Kind.NAME,
        target="river",
        role="river",
        says=(
            "{S} lies on {v}",
            "{S} was built along the banks of {v}",
            "{v} flows through {O}",
            "{P} mills stand on {v}, the river that crosses the town",
        ),
        label="River",
        asks=("On which river does {s} lie?", "Which river flows through {s}?", "What is the river of {s} called?"),
        claims=(
            ("{S} lies on {v}", "{S} does not lie on {v}"),
            ("{v} flows through {O}", "{v} does not flow through {O}"),
        ),
        noun=("the river that flows through {s}", "the river on which {s} lies"),
        same="Do {a} and {b} lie on the same river?",
    ),
    Attribute(
        name="craft",
        subject="town",
        kind=Kind.WORD,
        words=listed(
            "blue glass, salted plums, woollen blankets, smoked eel, pewter buttons, honey cakes, reed "
            "baskets, barley beer, painted tiles, goat cheese, copper kettles, walnut oil, bone combs, "
            "pear brandy"
        ),
        says=(
            "{S} is known for its {v}",
            "{S} owes its good name to its {v}",
            "people elsewhere know {O} for its {v}",
            "{P} best-known product is {v}",
        ),
        label="Known for",
        asks=(
            "What is {s} known for?",
            "For which product is {s} known?",
            "Which product is the best-known product of {s}?",
        ),
        claims=(
            ("{S} is known for its {v}", "{S} is not known for its {v}"),
            ("the best-known product of {O} is {v}", "the best-known product of {O} is not {v}"),
        ),
        same="Are {a} and {b} known for the same product?",
    ),
    Attribute(
        name="market_day",
        subject="town",
        kind=Kind.WORD,
        words=listed("Monday, Tuesday, Wednesday, Thursday, Friday, Saturday"),
        says=(
            "{S} holds its weekly market on {v}",
            "the weekly market of {O} takes place on {v}",
            "every {v}, {S} holds its weekly market",
        ),
        label="Weekly market",
        asks=("On which day does {s} hold its weekly market?", "Which day is market day in {s}?"),
        claims=(
            ("{S} holds its weekly market on {v}", "{S} does not hold its weekly market on {v}"),
            ("{v} is market day in {O}", "{v} is not market day in {O}"),
        ),
        same="Do {a} and {b} hold their weekly market on the same day?",
    ),
)

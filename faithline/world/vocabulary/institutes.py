"""Institutes of higher learning."""

from __future__ import annotations

from faithline.world.schema import Attribute, Contrast, EntityType, Kind, listed

__all__ = ["ATTRIBUTES", "TYPES"]

TYPES = (
    EntityType(
        name="institute",
        noun="institute",
        plural="institutes",
        leads=(
            "{n} is an institute of higher learning in {region}.",
            "Scholars from all over {region} come to {N}.",
            "{n} trains young researchers from {region}.",
        ),
    ),
)

ATTRIBUTES = (
    Attribute(
        name="institute_founded",
        subject="institute",
        kind=Kind.YEAR,
        says=(
            "{S} was founded in {v}",
            "{S} first admitted students in {v}, the year of its founding",
            "{P} founding took place in {v}",
            "the founding of {O} goes back to {v}",
        ),
        label="Founded",
        asks=(
            "In which year was {s} founded?",
            "When was {s} founded?",
            "What is the founding year of {s}?",
        ),
        claims=(
            ("{S} was founded in {v}", "{S} was not founded in {v}"),
            ("the founding of {O} goes back to {v}", "the founding of {O} does not go back to {v}"),
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
        name="director",
        subject="institute",
        kind=Kind.NAME,
        target="person",
        role="director",
        says=(
            "{S} has been headed by director {v} since {y}",
            "{v} has been the director of {O} since {y}",
            "{P} current director, {v}, was appointed in {y}",
        ),
        past=(
            "{v} was the director of {O} until {y}",
            "until {y}, {S} was headed by director {v}",
            "the director of {O}, {v}, retired in {y}",
        ),
        label="Director (since {y})",
        asks=("Who is the director of {s}?", "Who is the current director of {s}?"),
        asks_past=("Who was the director of {s} until {y}?", "Which director of {s} retired in {y}?"),
        claims=(
            ("the director of {O} is {v}", "the director of {O} is not {v}"),
            ("{v} is the director of {O}", "{v} is not the director of {O}"),
        ),
        noun=("the director of {s}", "the person who heads {s} as director"),
    ),
    Attribute(
        name="institute_town",
        subject="institute",
        kind=Kind.NAME,
        target="town",
        role="seat",
        says=(
            "{S} is located in {v}",
            "{S} has its buildings in {v}",
            "{P} campus is in {v}",
            "the seat of {O} is {v}",
        ),
        label="Seat",
        asks=(
            "In which town is {s} located?",
            "Where is {s} located?",
            "Which town is the seat of {s}?",
        ),
        claims=(
            ("{S} is located in {v}", "{S} is not located in {v}"),
            ("the seat of {O} is {v}", "the seat of {O} is not {v}"),
        ),
        noun=("the town where {s} is located", "the town that is the seat of {s}"),
        same="Are {a} and {b} located in the same town?",
    ),
    Attribute(
        name="field",
        subject="institute",
        kind=Kind.WORD,
        words=listed(
            "soil science, acoustics, plant breeding, medieval law, hydraulics, textile chemistry, map "
            "making, bee keeping, metallurgy, navigation, ceramics, forest ecology"
        ),
        says=(
            "{S} specialises in {v}",
            "{S} devotes itself mainly to {v}",
            "{P} main field of research is {v}",
        ),
        label="Main field",
        asks=("What is the main field of research of {s}?", "In which field does {s} specialise?"),
        claims=(
            ("{S} specialises in {v}", "{S} does not specialise in {v}"),
            ("the main field of {O} is {v}", "the main field of {O} is not {v}"),
        ),
        same="Do {a} and {b} specialise in the same field?",
    ),
    Attribute(
        name="students",
        subject="institute",
        kind=Kind.NUMBER,
        says=(
            "{S} has {v} students according to its latest figures, those of {y}",
            "the latest figures, from {y}, give the number of students of {O} as {v}",
            "{P} student body counts {v} people as of {y}, the date of the latest figures",
        ),
        past=(
            "in {y}, {S} had {v} students",
            "the figures of {y} gave the number of students of {O} as {v}",
            "{P} student body counted {v} people in {y}",
        ),
        label="Students (latest figures, {y})",
        asks=("How many students does {s} have?", "What is the number of students of {s}?"),
        asks_past=("How many students did {s} have in {y}?", "What was the number of students of {s} in {y}?"),
        claims=(
            ("{S} has {v} students", "{S} does not have {v} students"),
            ("the number of students of {O} is {v}", "the number of students of {O} is not {v}"),
        ),
        noun=("the number of students of {s}",),
        contrast=Contrast(
            more="has more students",
            less="has fewer students",
            check="Does {a} have more students than {b}?",
            gap="How many more students does {a} have than {b}?",
            total="How many students do {a} and {b} have together?",
        ),
    ),
)

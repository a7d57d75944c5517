"""Companies."""

from __future__ import annotations

from faithline.world.schema import Attribute, Contrast, EntityType, Kind, listed

__all__ = ["ATTRIBUTES", "TYPES"]

TYPES = (
    EntityType(
        name="company",
        noun="company",
        plural="companies",
        leads=(
            "{n} is a company in {region}.",
            "{n} is one of the larger employers of {region}.",
            "Among the companies of {region}, {N} has a long record.",
        ),
    ),
)

ATTRIBUTES = (
    Attribute(
        name="established",
        subject="company",
        kind=Kind.YEAR,
        says=(
            "{S} was founded in {v}",
            "{S} has been in business since its founding in {v}",
            "{P} founding year is {v}",
            "the founding of {O} dates back to {v}",
        ),
        label="Founded",
        asks=("In which year was {s} founded?", "When was {s} founded?", "What is the founding year of {s}?"),
        claims=(
            ("{S} was founded in {v}", "{S} was not founded in {v}"),
            ("the founding of {O} dates back to {v}", "the founding of {O} does not date back to {v}"),
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
        name="founder",
        subject="company",
        kind=Kind.NAME,
        target="person",
        role="founder",
        says=(
            "{S} was founded by {v}",
            "{v} founded {O}",
            "{P} founder was {v}",
            "it was {v} who founded {O}",
        ),
        label="Founder",
        asks=("Who founded {s}?", "Who was the founder of {s}?", "By whom was {s} founded?"),
        claims=(
            ("{S} was founded by {v}", "{S} was not founded by {v}"),
            ("the founder of {O} was {v}", "the founder of {O} was not {v}"),
        ),
        noun=("the founder of {s}", "the person who founded {s}"),
        same="Were {a} and {b} founded by the same person?",
    ),
    Attribute(
        name="headquarters",
        subject="company",
        kind=Kind.NAME,
        target="town",
        role="seat",
        says=(
            "{S} has its headquarters in {v}",
            "{S} is based in {v}",
            "{P} head office is in {v}",
            "{v} is home to the headquarters of {O}",
        ),
        label="Headquarters",
        asks=("In which town is {s} based?", "In which town are the headquarters of {s}?", "Where is {s} based?"),
        claims=(
            ("{S} is based in {v}", "{S} is not based in {v}"),
            ("the headquarters of {O} are in {v}", "the headquarters of {O} are not in {v}"),
        ),
        noun=("the town where {s} is based", "the town where {s} has its headquarters"),
        same="Are {a} and {b} based in the same town?",
    ),
    Attribute(
        name="employees",
        subject="company",
        kind=Kind.NUMBER,
        says=(
            "{S} employs {v} people according to its latest report, that of {y}",
            "the latest yearly report, for {y}, puts the number of people employed by {O} at {v}",
            "{P} staff numbers {v} people as of {y}, the year of the latest report",
        ),
        past=(
            "in {y}, {S} employed {v} people",
            "the yearly report for {y} put the number of people employed by {O} at {v}",
            "{P} staff numbered {v} people in {y}",
        ),
        label="Employees (latest report, {y})",
        asks=(
            "How many people does {s} employ?",
            "How many employees does {s} have?",
            "What is the number of employees of {s}?",
        ),
        asks_past=("How many people did {s} employ in {y}?", "How many employees did {s} have in {y}?"),
        claims=(
            ("{S} employs {v} people", "{S} does not employ {v} people"),
            ("the number of people employed by {O} is {v}", "the number of people employed by {O} is not {v}"),
        ),
        noun=("the number of employees of {s}",),
        contrast=Contrast(
            more="has more employees",
            less="has fewer employees",
            check="Does {a} have more employees than {b}?",
            gap="How many more people does {a} employ than {b}?",
            total="How many people do {a} and {b} employ together?",
        ),
    ),
    Attribute(
        name="chief",
        subject="company",
        kind=Kind.NAME,
        target="person",
        role="chief executive",
        says=(
            "{S} has been led by chief executive {v} since {y}",
            "{v} has been the chief executive of {O} since {y}",
            "{P} current chief executive, {v}, took over in {y}",
        ),
        past=(
            "{v} was the chief executive of {O} until {y}",
            "until {y}, {S} was led by chief executive {v}",
            "the chief executive of {O}, {v}, stepped down in {y}",
        ),
        label="Chief executive (since {y})",
        asks=("Who is the chief executive of {s}?", "Who is the current chief executive of {s}?"),
        asks_past=(
            "Who was the chief executive of {s} until {y}?",
            "Which chief executive of {s} stepped down in {y}?",
        ),
        claims=(
            ("the chief executive of {O} is {v}", "the chief executive of {O} is not {v}"),
            ("{v} is the chief executive of {O}", "{v} is not the chief executive of {O}"),
        ),
        noun=("the chief executive of {s}", "the person who leads {s} as chief executive"),
    ),
    Attribute(
        name="product",
        subject="company",
        kind=Kind.WORD,
        words=listed(
            "pocket watches, roof tiles, bicycle chains, sail cloth, railway signals, paper bags, water "
            "pumps, garden tools, camera lenses, church organs, fishing nets, weaving looms, door locks, "
            "soap"
        ),
        says=(
            "{S} makes {v}",
            "{S} earns most of its money with {v}",
            "{P} main product is {v}",
            "the workshops of {O} turn out {v}",
        ),
        label="Main product",
        asks=("What does {s} make?", "What is the main product of {s}?"),
        claims=(
            ("{S} makes {v}", "{S} does not make {v}"),
            ("the main product of {O} is {v}", "the main product of {O} is not {v}"),
        ),
        same="Do {a} and {b} make the same product?",
    ),
)

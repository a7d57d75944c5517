"""Ships."""

from __future__ import annotations

from faithline.world.schema import Attribute, Contrast, EntityType, Kind

__all__ = ["ATTRIBUTES", "TYPES"]

TYPES = (
    EntityType(
        name="ship",
        noun="ship",
        plural="ships",
        leads=(
            "{n} is a ship that sails the waters of {region}.",
            "{n} is often seen off {region}.",
            "Sailors in {region} are fond of {N}.",
        ),
    ),
)

ATTRIBUTES = (
    Attribute(
        name="launched",
        subject="ship",
        kind=Kind.DATE,
        says=(
            "{S} was launched on {v}",
            "{P} launch took place on {v}",
            "the launch of {O} was celebrated on {v}",
            "on {v}, {S} was launched",
        ),
        label="Launched",
        asks=("On which date was {s} launched?", "What is the launch date of {s}?", "When was {s} launched?"),
        claims=(
            ("{S} was launched on {v}", "{S} was not launched on {v}"),
            ("the launch of {O} took place on {v}", "the launch of {O} did not take place on {v}"),
        ),
        noun=("the launch of {s}",),
        contrast=Contrast(
            more="was launched later",
            less="was launched earlier",
            check="Was {a} launched later than {b}?",
        ),
    ),
    Attribute(
        name="ship_length",
        subject="ship",
        kind=Kind.NUMBER,
        unit="metres",
        says=(
            "{S} is {v} metres long",
            "{S} measures {v} metres from bow to stern",
            "{P} length is {v} metres",
            "the papers give the length of {O} as {v} metres",
        ),
        label="Length in metres",
        asks=("How many metres long is {s}?", "What is the length of {s} in metres?", "How long is {s}, in metres?"),
        claims=(
            ("{S} is {v} metres long", "{S} is not {v} metres long"),
            ("the length of {O} is {v} metres", "the length of {O} is not {v} metres"),
        ),
        noun=("the length of {s}",),
        contrast=Contrast(
            more="is longer",
            less="is shorter",
            check="Is {a} longer than {b}?",
            gap="How many metres longer is {a} than {b}?",
            total="How many metres do {a} and {b} measure together?",
        ),
    ),
    Attribute(
        name="builder",
        subject="ship",
        kind=Kind.NAME,
        target="company",
        role="builder",
        says=(
            "{S} was built by {v}",
            "{v} built {O}",
            "{P} builder was {v}",
            "the order to build {O} went to {v}, which delivered the ship on time",
        ),
        label="Builder",
        asks=("Which company built {s}?", "Who built {s}?", "By which company was {s} built?"),
        claims=(
            ("{S} was built by {v}", "{S} was not built by {v}"),
            ("the builder of {O} was {v}", "the builder of {O} was not {v}"),
        ),
        noun=("the builder of {s}", "the company that built {s}"),
        same="Were {a} and {b} built by the same company?",
    ),
    Attribute(
        name="home_port",
        subject="ship",
        kind=Kind.NAME,
        target="town",
        role="home port",
        says=(
            "{S} is registered in its home port, {v}",
            "{P} home port is {v}",
            "the home port of {O} is {v}",
            "{v} serves as the home port of {O}",
        ),
        label="Home port",
        asks=("What is the home port of {s}?", "Which town is the home port of {s}?"),
        claims=(
            ("the home port of {O} is {v}", "the home port of {O} is not {v}"),
            ("{v} is the home port of {O}", "{v} is not the home port of {O}"),
        ),
        noun=("the home port of {s}", "the town that is the home port of {s}"),
        same="Do {a} and {b} have the same home port?",
    ),
    Attribute(
        name="captain",
        subject="ship",
        kind=Kind.NAME,
        target="person",
        role="captain",
        says=(
            "{S} has sailed under captain {v} since {y}",
            "{v} has been the captain of {O} since {y}",
            "{P} current captain, {v}, took command in {y}",
        ),
        past=(
            "{v} was the captain of {O} until {y}",
            "until {y}, {S} sailed under captain {v}",
            "the captain of {O}, {v}, gave up command in {y}",
        ),
        label="Captain (since {y})",
        asks=("Who is the captain of {s}?", "Who is the current captain of {s}?"),
        asks_past=("Who was the captain of {s} until {y}?", "Which captain of {s} gave up command in {y}?"),
        claims=(
            ("the captain of {O} is {v}", "the captain of {O} is not {v}"),
            ("{v} is the captain of {O}", "{v} is not the captain of {O}"),
        ),
        noun=("the captain of {s}", "the person who is captain of {s}"),
    ),
    Attribute(
        name="cabins",
        subject="ship",
        kind=Kind.NUMBER,
        says=(
            "{S} has {v} cabins",
            "{S} offers room in {v} cabins",
            "the number of cabins on board {O} is {v}",
        ),
        label="Cabins",
        asks=("How many cabins does {s} have?", "What is the number of cabins on board {s}?"),
        claims=(
            ("{S} has {v} cabins", "{S} does not have {v} cabins"),
            ("the number of cabins on board {O} is {v}", "the number of cabins on board {O} is not {v}"),
        ),
        noun=("the number of cabins on board {s}",),
        contrast=Contrast(
            more="has more cabins",
            less="has fewer cabins",
            check="Does {a} have more cabins than {b}?",
            gap="How many more cabins does {a} have than {b}?",
            total="How many cabins do {a} and {b} have together?",
        ),
    ),
)

"""Bridges."""

from __future__ import annotations

from faithline.world.schema import Attribute, Contrast, EntityType, Kind

__all__ = ["ATTRIBUTES", "TYPES"]

TYPES = (
    EntityType(
        name="bridge",
        noun="bridge",
        plural="bridges",
        leads=(
            "{n} is a bridge in {region}.",
            "One of the bridges of {region} is {N}.",
            "Traffic in {region} depends on {N}.",
        ),
    ),
)

ATTRIBUTES = (
    Attribute(
        name="bridge_length",
        subject="bridge",
        kind=Kind.NUMBER,
        unit="metres",
        says=(
            "{S} is {v} metres long",
            "{S} has a total length of {v} metres",
            "from end to end, {S} measures {v} metres",
            "{P} deck is {v} metres long, which is also the length of the bridge",
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
        name="bridge_opened",
        subject="bridge",
        kind=Kind.YEAR,
        says=(
            "{S} was opened to traffic in {v}",
            "{S} has been open to traffic since {v}",
            "the opening of {O} took place in {v}",
            "{v} was the year in which {S} was opened",
        ),
        label="Opened",
        asks=(
            "In which year was {s} opened?",
            "When was {s} opened?",
            "Since which year has {s} been open?",
            "Which year saw the opening of {s}?",
        ),
        claims=(
            ("{S} was opened in {v}", "{S} was not opened in {v}"),
            ("the opening of {O} took place in {v}", "the opening of {O} did not take place in {v}"),
        ),
        noun=("the opening of {s}",),
        contrast=Contrast(
            more="was opened later",
            less="was opened earlier",
            check="Was {a} opened later than {b}?",
            gap="How many years lie between the opening of {a} and the opening of {b}?",
        ),
    ),
    Attribute(
        name="crosses",
        subject="bridge",
        kind=Kind.NAME,
        target="river",
        role="river",
        says=(
            "{S} crosses {v}",
            "{S} spans {v}",
            "{S} carries a road across {v}",
            "the river under {O} is {v}",
        ),
        label="Crosses",
        asks=("Which river does {s} cross?", "Which river is crossed by {s}?", "What river does {s} span?"),
        claims=(
            ("{S} crosses {v}", "{S} does not cross {v}"),
            ("the river under {O} is {v}", "the river under {O} is not {v}"),
        ),
        noun=("the river that {s} crosses", "the river crossed by {s}"),
        same="Do {a} and {b} cross the same river?",
    ),
    Attribute(
        name="bridge_designer",
        subject="bridge",
        kind=Kind.NAME,
        target="person",
        role="designer",
        says=(
            "{S} was designed by {v}",
            "{v} designed {O}",
            "{P} designer was {v}",
            "the plans for {O} were drawn by {v}, its designer",
        ),
        label="Designer",
        asks=("Who designed {s}?", "Who was the designer of {s}?", "By whom was {s} designed?"),
        claims=(
            ("{S} was designed by {v}", "{S} was not designed by {v}"),
            ("the designer of {O} was {v}", "the designer of {O} was not {v}"),
        ),
        noun=("the designer of {s}", "the person who designed {s}"),
        same="Were {a} and {b} designed by the same person?",
    ),
)

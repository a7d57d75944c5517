"""Works of art."""

from __future__ import annotations

from faithline.world.schema import Attribute, Contrast, EntityType, Kind, listed

__all__ = ["ATTRIBUTES", "TYPES"]

TYPES = (
    EntityType(
        name="work",
        noun="work of art",
        plural="works of art",
        leads=(
            "{n} is a work of art from {region}.",
            "{n} counts among the best-known works of art of {region}.",
            "Art lovers in {region} all know {N}.",
        ),
    ),
)

ATTRIBUTES = (
    Attribute(
        name="completed",
        subject="work",
        kind=Kind.YEAR,
        says=(
            "{S} was completed in {v}",
            "{P} completion is dated to {v}",
            "the work on {O} was completed in {v}",
        ),
        label="Completed",
        asks=(
            "In which year was {s} completed?",
            "When was {s} completed?",
            "Which year saw the completion of {s}?",
        ),
        claims=(
            ("{S} was completed in {v}", "{S} was not completed in {v}"),
            ("the completion of {O} is dated to {v}", "the completion of {O} is not dated to {v}"),
        ),
        noun=("the completion of {s}",),
        contrast=Contrast(
            more="was completed later",
            less="was completed earlier",
            check="Was {a} completed later than {b}?",
            gap="How many years lie between the completion of {a} and the completion of {b}?",
        ),
    ),
    Attribute(
        name="maker",
        subject="work",
        kind=Kind.NAME,
        target="person",
        role="maker",
        says=(
            "{S} was made by {v}",
            "{v} made {O}",
            "{P} maker was {v}",
            "the name of {v}, the maker of {O}, is cut into the base",
        ),
        label="Made by",
        asks=("Who made {s}?", "Who was the maker of {s}?", "By whom was {s} made?"),
        claims=(
            ("{S} was made by {v}", "{S} was not made by {v}"),
            ("the maker of {O} was {v}", "the maker of {O} was not {v}"),
        ),
        noun=("the maker of {s}", "the person who made {s}"),
        same="Were {a} and {b} made by the same person?",
    ),
    Attribute(
        name="kept_in",
        subject="work",
        kind=Kind.NAME,
        target="museum",
        role="museum",
        says=(
            "{S} is kept in {v}",
            "{S} belongs to the collection of {v}",
            "{P} place is in {v}",
            "visitors can see {O} in {v}",
        ),
        label="Kept in",
        asks=("In which museum is {s} kept?", "Which museum keeps {s}?"),
        claims=(
            ("{S} is kept in {v}", "{S} is not kept in {v}"),
            ("{v} keeps {O} in its collection", "{v} does not keep {O} in its collection"),
        ),
        noun=("the museum that keeps {s}", "the museum in which {s} is kept"),
        same="Are {a} and {b} kept in the same museum?",
    ),
    Attribute(
        name="material",
        subject="work",
        kind=Kind.WORD,
        words=listed(
            "oak, bronze, silver, limestone, clay, copper, walnut, alabaster, iron, marble, pewter, sandstone"
        ),
        says=(
            "{S} is made of {v}",
            "{S} was worked in {v}",
            "{P} material is {v}",
            "the material of {O} is {v}",
        ),
        label="Material",
        asks=(
            "Of which material is {s} made?",
            "What is {s} made of?",
            "What is the material of {s}?",
        ),
        claims=(
            ("{S} is made of {v}", "{S} is not made of {v}"),
            ("the material of {O} is {v}", "the material of {O} is not {v}"),
        ),
        same="Are {a} and {b} made of the same material?",
    ),
    Attribute(
        name="weight",
        subject="work",
        kind=Kind.NUMBER,
        unit="kilograms",
        says=(
            "{S} weighs {v} kilograms",
            "{P} weight is {v} kilograms",
            "on the scales, {S} came to {v} kilograms",
        ),
        label="Weight in kilograms",
        asks=(
            "How many kilograms does {s} weigh?",
            "What is the weight of {s} in kilograms?",
            "In kilograms, what is the weight of {s}?",
        ),
        claims=(
            ("{S} weighs {v} kilograms", "{S} does not weigh {v} kilograms"),
            ("the weight of {O} is {v} kilograms", "the weight of {O} is not {v} kilograms"),
        ),
        noun=("the weight of {s}",),
        contrast=Contrast(
            more="is heavier",
            less="is lighter",
            check="Is {a} heavier than {b}?",
            gap="How many kilograms heavier is {a} than {b}?",
            total="How many kilograms do {a} and {b} weigh together?",
        ),
    ),
)

"""Museums and festivals."""

from __future__ import annotations

from faithline.world.schema import Attribute, Contrast, EntityType, Kind, listed

__all__ = ["ATTRIBUTES", "TYPES"]

TYPES = (
    EntityType(
        name="museum",
        noun="museum",
        plural="museums",
        leads=(
            "{n} is a museum in {region}.",
            "School classes from all of {region} visit {N}.",
            "{n} keeps part of the heritage of {region}.",
        ),
    ),
    EntityType(
        name="festival",
        noun="festival",
        plural="festivals",
        leads=(
            "{n} is a yearly festival in {region}.",
            "Once a year, {N} brings together people from all over {region}.",
            "{n} has a fixed place in the calendar of {region}.",
        ),
    ),
)

_MUSEUMS = (
    Attribute(
        name="museum_opened",
        subject="museum",
        kind=Kind.YEAR,
        says=(
            "{S} was opened in {v}",
            "{S} first received visitors in {v}, when it was opened",
            "{P} opening took place in {v}",
            "the opening of {O} dates from {v}",
        ),
        label="Opened",
        asks=(
            "In which year was {s} opened?",
            "When was {s} opened?",
            "Which year saw the opening of {s}?",
        ),
        claims=(
            ("{S} was opened in {v}", "{S} was not opened in {v}"),
            ("the opening of {O} dates from {v}", "the opening of {O} does not date from {v}"),
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
        name="museum_town",
        subject="museum",
        kind=Kind.NAME,
        target="town",
        role="location",
        says=(
            "{S} is located in {v}",
            "{S} stands in the centre of {v}",
            "{P} building is in {v}",
            "the town of {v} is home to {O}",
        ),
        label="Location",
        asks=("In which town is {s} located?", "Where is {s} located?", "Which town is home to {s}?"),
        claims=(
            ("{S} is located in {v}", "{S} is not located in {v}"),
            ("{v} is home to {O}", "{v} is not home to {O}"),
        ),
        noun=("the town where {s} is located", "the town that is home to {s}"),
        same="Are {a} and {b} located in the same town?",
    ),
    Attribute(
        name="museum_visitors",
        subject="museum",
        kind=Kind.NUMBER,
        says=(
            "{S} receives {v} visitors a year according to the latest figures, those of {y}",
            "the latest figures, from {y}, give the yearly number of visitors to {O} as {v}",
            "as of {y}, the year of the latest figures, {v} people visit {O} every year",
        ),
        past=(
            "in {y}, {S} received {v} visitors",
            "the figures of {y} gave the yearly number of visitors to {O} as {v}",
            "{v} people visited {O} in {y}",
        ),
        label="Visitors a year (latest figures, {y})",
        asks=(
            "How many visitors does {s} receive a year?",
            "How many people visit {s} every year?",
            "What is the yearly number of visitors to {s}?",
        ),
        asks_past=("How many visitors did {s} receive in {y}?", "How many people visited {s} in {y}?"),
        claims=(
            ("{S} receives {v} visitors a year", "{S} does not receive {v} visitors a year"),
            ("the yearly number of visitors to {O} is {v}", "the yearly number of visitors to {O} is not {v}"),
        ),
        noun=("the yearly number of visitors to {s}",),
        contrast=Contrast(
            more="receives more visitors",
            less="receives fewer visitors",
            check="Does {a} receive more visitors a year than {b}?",
            gap="How many more visitors a year does {a} receive than {b}?",
            total="How many visitors a year do {a} and {b} receive together?",
        ),
    ),
    Attribute(
        name="rooms",
        subject="museum",
        kind=Kind.NUMBER,
        says=(
            "{S} has {v} exhibition rooms",
            "{S} shows its holdings in {v} exhibition rooms",
            "{P} exhibits fill {v} exhibition rooms",
        ),
        label="Exhibition rooms",
        asks=("How many exhibition rooms does {s} have?", "What is the number of exhibition rooms in {s}?"),
        claims=(
            ("{S} has {v} exhibition rooms", "{S} does not have {v} exhibition rooms"),
            ("the number of exhibition rooms in {O} is {v}", "the number of exhibition rooms in {O} is not {v}"),
        ),
        noun=("the number of exhibition rooms in {s}",),
        contrast=Contrast(
            more="has more exhibition rooms",
            less="has fewer exhibition rooms",
            check="Does {a} have more exhibition rooms than {b}?",
            gap="How many more exhibition rooms does {a} have than {b}?",
            total="How many exhibition rooms do {a} and {b} have together?",
        ),
    ),
)

_FESTIVALS = (
    Attribute(
        name="first_held",
        subject="festival",
        kind=Kind.YEAR,
        says=(
            "{S} was first held in {v}",
            "{S} has been held every year since {v}",
            "{P} first edition took place in {v}",
            "the first edition of {O} dates from {v}",
        ),
        label="First held",
        asks=(
            "In which year was {s} first held?",
            "When did the first edition of {s} take place?",
            "Which year saw the first edition of {s}?",
        ),
        claims=(
            ("{S} was first held in {v}", "{S} was not first held in {v}"),
            ("the first edition of {O} took place in {v}", "the first edition of {O} did not take place in {v}"),
        ),
        noun=("the first edition of {s}",),
        contrast=Contrast(
            more="was first held later",
            less="was first held earlier",
            check="Was {a} first held later than {b}?",
            gap="How many years lie between the first edition of {a} and the first edition of {b}?",
        ),
    ),
    Attribute(
        name="festival_town",
        subject="festival",
        kind=Kind.NAME,
        target="town",
        role="location",
        says=(
            "{S} takes place in {v}",
            "{S} fills the streets of {v}",
            "the town of {v} hosts {O}",
            "{P} stages are set up in {v}",
        ),
        label="Held in",
        asks=("In which town does {s} take place?", "Which town hosts {s}?", "Where does {s} take place?"),
        claims=(
            ("{S} takes place in {v}", "{S} does not take place in {v}"),
            ("{v} hosts {O}", "{v} does not host {O}"),
        ),
        noun=("the town that hosts {s}", "the town where {s} takes place"),
        same="Do {a} and {b} take place in the same town?",
    ),
    Attribute(
        name="festival_visitors",
        subject="festival",
        kind=Kind.NUMBER,
        says=(
            "{S} draws {v} visitors according to the latest figures, those of {y}",
            "at the latest edition, in {y}, the organisers counted {v} visitors to {O}",
            "{P} latest edition, in {y}, drew {v} visitors",
        ),
        past=(
            "in {y}, {S} drew {v} visitors",
            "at the edition of {y}, the organisers counted {v} visitors to {O}",
            "{P} edition of {y} drew {v} visitors",
        ),
        label="Visitors (latest edition, {y})",
        asks=("How many visitors does {s} draw?", "How many visitors came to the latest edition of {s}?"),
        asks_past=("How many visitors did {s} draw in {y}?", "How many visitors came to {s} in {y}?"),
        claims=(
            ("{S} draws {v} visitors", "{S} does not draw {v} visitors"),
            ("the number of visitors to {O} is {v}", "the number of visitors to {O} is not {v}"),
        ),
        noun=("the number of visitors to {s}",),
        contrast=Contrast(
            more="draws more visitors",
            less="draws fewer visitors",
            check="Does {a} draw more visitors than {b}?",
            gap="How many more visitors does {a} draw than {b}?",
            total="How many visitors do {a} and {b} draw together?",
        ),
    ),
    Attribute(
        name="month",
        subject="festival",
        kind=Kind.WORD,
        words=listed(
            "January, February, March, April, May, June, July, August, September, October, November, December"
        ),
        says=(
            "{S} is held every {v}",
            "{S} takes place each year in {v}",
            "the month of {O} is {v}",
        ),
        label="Month",
        asks=("In which month is {s} held?", "Which month is the month of {s}?"),
        claims=(
            ("{S} is held in {v}", "{S} is not held in {v}"),
            ("the month of {O} is {v}", "the month of {O} is not {v}"),
        ),
        same="Are {a} and {b} held in the same month?",
    ),
)

ATTRIBUTES = _MUSEUMS + _FESTIVALS

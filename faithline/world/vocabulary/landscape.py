"""Rivers and mountains."""

from __future__ import annotations

from faithline.world.schema import Attribute, Contrast, EntityType, Kind, listed

__all__ = ["ATTRIBUTES", "TYPES"]

TYPES = (
    EntityType(
        name="river",
        noun="river",
        plural="rivers",
        leads=(
            "{n} is a river in {region}.",
            "Among the rivers of {region} is {N}.",
            "{n} drains a part of {region}.",
        ),
    ),
    EntityType(
        name="mountain",
        noun="mountain",
        plural="mountains",
        leads=(
            "{n} is a mountain in {region}.",
            "Hikers in {region} know {N} well.",
            "{n} can be seen from many parts of {region}.",
        ),
    ),
)

ATTRIBUTES = (
    Attribute(
        name="river_length",
        subject="river",
        kind=Kind.NUMBER,
        unit="kilometres",
        says=(
            "{S} is {v} kilometres long",
            "{S} covers {v} kilometres from its source to its mouth",
            "{P} length is {v} kilometres",
            "surveyors measured a length of {v} kilometres for {O}",
        ),
        label="Length in kilometres",
        asks=(
            "How many kilometres long is {s}?",
            "What is the length of {s} in kilometres?",
            "How long is {s}, in kilometres?",
        ),
        claims=(
            ("{S} is {v} kilometres long", "{S} is not {v} kilometres long"),
            ("the length of {O} is {v} kilometres", "the length of {O} is not {v} kilometres"),
        ),
        noun=("the length of {s}",),
        contrast=Contrast(
            more="is longer",
            less="is shorter",
            check="Is {a} longer than {b}?",
            gap="How many kilometres longer is {a} than {b}?",
            total="How many kilometres do {a} and {b} measure together?",
        ),
    ),
    Attribute(
        name="source",
        subject="river",
        kind=Kind.NAME,
        target="mountain",
        role="source mountain",
        says=(
            "{S} rises on {v}",
            "{S} has its source on {v}",
            "{P} source is a spring on {v}",
            "the spring that feeds {O} lies on {v}",
        ),
        label="Source",
        asks=("On which mountain does {s} rise?", "On which mountain is the source of {s}?"),
        claims=(
            ("{S} rises on {v}", "{S} does not rise on {v}"),
            ("the source of {O} is on {v}", "the source of {O} is not on {v}"),
        ),
        noun=("the mountain on which {s} rises", "the mountain where {s} has its source"),
        same="Do {a} and {b} rise on the same mountain?",
    ),
    Attribute(
        name="river_mapper",
        subject="river",
        kind=Kind.NAME,
        target="person",
        role="first mapper",
        says=(
            "{S} was first mapped by {v}",
            "{v} drew the first map of {O}",
            "the first map of {O} is the work of {v}",
        ),
        label="First mapped by",
        asks=("Who drew the first map of {s}?", "Who was the first to map {s}?", "By whom was {s} first mapped?"),
        claims=(
            ("{S} was first mapped by {v}", "{S} was not first mapped by {v}"),
            ("{v} drew the first map of {O}", "{v} did not draw the first map of {O}"),
        ),
        noun=("the person who first mapped {s}", "the person who drew the first map of {s}"),
        same="Were {a} and {b} first mapped by the same person?",
    ),
    Attribute(
        name="river_mapped",
        subject="river",
        kind=Kind.YEAR,
        says=(
            "{S} was first mapped in {v}",
            "{P} first map dates from {v}",
            "the first map of {O} was drawn in {v}",
        ),
        label="First mapped in",
        asks=(
            "In which year was {s} first mapped?",
            "When was the first map of {s} drawn?",
            "What is the year of the first map of {s}?",
        ),
        claims=(
            ("{S} was first mapped in {v}", "{S} was not first mapped in {v}"),
            ("the first map of {O} was drawn in {v}", "the first map of {O} was not drawn in {v}"),
        ),
        noun=("the first mapping of {s}",),
        contrast=Contrast(
            more="was mapped later",
            less="was mapped earlier",
            check="Was {a} mapped later than {b}?",
            gap="How many years lie between the first mapping of {a} and the first mapping of {b}?",
        ),
    ),
    Attribute(
        name="discharge",
        subject="river",
        kind=Kind.NUMBER,
        unit="cubic metres per second",
        says=(
            "{S} carries {v} cubic metres of water per second on average",
            "{P} average discharge is {v} cubic metres per second",
            "on average, {v} cubic metres of water per second pass through {O}",
        ),
        label="Average discharge in cubic metres per second",
        asks=(
            "What is the average discharge of {s} in cubic metres per second?",
            "How many cubic metres of water per second does {s} carry on average?",
            "In cubic metres per second, what is the average discharge of {s}?",
        ),
        claims=(
            (
                "{S} carries {v} cubic metres of water per second on average",
                "{S} does not carry {v} cubic metres of water per second on average",
            ),
            (
                "the average discharge of {O} is {v} cubic metres per second",
                "the average discharge of {O} is not {v} cubic metres per second",
            ),
        ),
        noun=("the average discharge of {s}",),
        contrast=Contrast(
            more="carries more water",
            less="carries less water",
            check="Does {a} carry more water than {b}?",
            gap="By how many cubic metres per second does the average discharge of {a} exceed that of {b}?",
        ),
    ),
    Attribute(
        name="height",
        subject="mountain",
        kind=Kind.NUMBER,
        unit="metres",
        says=(
            "{S} is {v} metres high",
            "{S} rises to {v} metres",
            "{P} summit stands {v} metres above sea level",
            "the official height of {O} is {v} metres",
        ),
        label="Height in metres",
        asks=(
            "How many metres high is {s}?",
            "What is the height of {s} in metres?",
            "How high is {s}, in metres?",
        ),
        claims=(
            ("{S} is {v} metres high", "{S} is not {v} metres high"),
            ("the height of {O} is {v} metres", "the height of {O} is not {v} metres"),
        ),
        noun=("the height of {s}",),
        contrast=Contrast(
            more="is higher",
            less="is lower",
            check="Is {a} higher than {b}?",
            gap="How many metres higher is {a} than {b}?",
        ),
    ),
    Attribute(
        name="first_climbed",
        subject="mountain",
        kind=Kind.YEAR,
        says=(
            "{S} was first climbed in {v}",
            "{P} summit was first reached in {v}",
            "the first ascent of {O} took place in {v}",
            "nobody reached the top of {O} before {v}, when it was first climbed",
        ),
        label="First ascent",
        asks=(
            "In which year was {s} first climbed?",
            "When did the first ascent of {s} take place?",
            "Which year saw the first ascent of {s}?",
        ),
        claims=(
            ("{S} was first climbed in {v}", "{S} was not first climbed in {v}"),
            ("the first ascent of {O} took place in {v}", "the first ascent of {O} did not take place in {v}"),
        ),
        noun=("the first ascent of {s}",),
        contrast=Contrast(
            more="was first climbed later",
            less="was first climbed earlier",
            check="Was {a} first climbed later than {b}?",
            gap="How many years lie between the first ascent of {a} and the first ascent of {b}?",
        ),
    ),
    Attribute(
        name="first_climber",
        subject="mountain",
        kind=Kind.NAME,
        target="person",
        role="first climber",
        says=(
            "{S} was first climbed by {v}",
            "{v} was the first person to climb {O}",
            "the first ascent of {O} was made by {v}",
            "{P} summit was reached for the first time by {v}",
        ),
        label="First climbed by",
        asks=("Who was the first person to climb {s}?", "Who first climbed {s}?", "By whom was {s} first climbed?"),
        claims=(
            ("{S} was first climbed by {v}", "{S} was not first climbed by {v}"),
            ("{v} was the first person to climb {O}", "{v} was not the first person to climb {O}"),
        ),
        noun=("the first person to climb {s}", "the person who first climbed {s}"),
        same="Were {a} and {b} first climbed by the same person?",
    ),
    Attribute(
        name="nearest_town",
        subject="mountain",
        kind=Kind.NAME,
        target="town",
        role="nearest town",
        says=(
            "{P} nearest town is {v}",
            "the town nearest to {O} is {v}",
            "the nearest town, {v}, is the usual starting point for walks on {O}",
        ),
        label="Nearest town",
        asks=("Which town is nearest to {s}?", "What is the nearest town to {s}?"),
        claims=(
            ("the town nearest to {O} is {v}", "the town nearest to {O} is not {v}"),
            ("{v} is the nearest town to {O}", "{v} is not the nearest town to {O}"),
        ),
        noun=("the town nearest to {s}", "the nearest town to {s}"),
        same="Is the same town nearest to both {a} and {b}?",
    ),
    Attribute(
        name="rock",
        subject="mountain",
        kind=Kind.WORD,
        words=listed("granite, basalt, limestone, sandstone, slate, gneiss, marble, quartzite"),
        says=(
            "{S} consists mainly of {v}",
            "{S} is made up largely of {v}",
            "{v} is the main rock of {O}",
        ),
        label="Main rock",
        asks=("Of which rock does {s} mainly consist?", "What is the main rock of {s}?"),
        claims=(
            ("{S} consists mainly of {v}", "{S} does not consist mainly of {v}"),
            ("the main rock of {O} is {v}", "the main rock of {O} is not {v}"),
        ),
        same="Do {a} and {b} consist mainly of the same rock?",
    ),
)

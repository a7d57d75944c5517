"""People and their families."""

from __future__ import annotations

from faithline.world.schema import Attribute, Contrast, EntityType, Kind, listed

__all__ = ["ATTRIBUTES", "TYPES"]

TYPES = (
    EntityType(
        name="person",
        noun="person",
        plural="people",
        leads=(
            "{n} belongs to the well-known names of {region}.",
            "Many people in {region} can say something about {N}.",
            "{n} has a page in every lexicon of {region}.",
            "In {region}, {N} needs no introduction.",
        ),
    ),
)

ATTRIBUTES = (
    Attribute(
        name="born",
        subject="person",
        kind=Kind.DATE,
        says=(
            "{S} was born on {v}",
            "{P} date of birth is {v}",
            "the parish book gives {v} as the date of birth of {O}",
        ),
        label="Born",
        asks=("On which date was {s} born?", "What is the date of birth of {s}?", "When was {s} born?"),
        claims=(
            ("{S} was born on {v}", "{S} was not born on {v}"),
            ("the date of birth of {O} is {v}", "the date of birth of {O} is not {v}"),
        ),
        noun=("the birth of {s}",),
        contrast=Contrast(
            more="was born later",
            less="was born earlier",
            check="Was {a} born later than {b}?",
        ),
    ),
    Attribute(
        name="birthplace",
        subject="person",
        kind=Kind.NAME,
        target="town",
        role="birthplace",
        says=(
            "{S} was born in {v}",
            "{S} is a native of {v}",
            "{P} birthplace is {v}",
            "the birthplace of {O} is the town of {v}",
        ),
        label="Birthplace",
        asks=("In which town was {s} born?", "What is the birthplace of {s}?", "Where was {s} born?"),
        claims=(
            ("{S} was born in {v}", "{S} was not born in {v}"),
            ("the birthplace of {O} is {v}", "the birthplace of {O} is not {v}"),
        ),
        noun=("the birthplace of {s}", "the town where {s} was born"),
        same="Were {a} and {b} born in the same town?",
    ),
    Attribute(
        name="profession",
        subject="person",
        kind=Kind.WORD,
        words=listed(
            "chemist, painter, composer, surveyor, botanist, historian, glassmaker, bookbinder, "
            "geologist, physician, lawyer, printer, weaver, brewer, carpenter, watchmaker, tailor, "
            "sculptor, baker, librarian, goldsmith, beekeeper, potter, cartographer, shipwright, teacher, "
            "gardener, journalist"
        ),
        says=(
            "{S} is known as a {v}",
            "{P} profession is given as {v}",
            "the registers list {O} as a {v} by profession",
            "{S} is described by all sources as a {v}",
        ),
        label="Profession",
        asks=("What is the profession of {s}?", "Which profession is given for {s}?"),
        claims=(
            ("{S} is a {v} by profession", "{S} is not a {v} by profession"),
            ("the profession of {O} is {v}", "the profession of {O} is not {v}"),
        ),
        same="Do {a} and {b} have the same profession?",
    ),
    Attribute(
        name="studied_at",
        subject="person",
        kind=Kind.NAME,
        target="institute",
        role="place of study",
        says=(
            "{S} studied at {v}",
            "{S} was a student of {v}",
            "{P} years of study were spent at {v}",
            "{v} counts {O} among its former students",
        ),
        label="Studied at",
        asks=(
            "At which institute did {s} study?",
            "Where did {s} study?",
            "Which institute was the place of study of {s}?",
        ),
        claims=(
            ("{S} studied at {v}", "{S} did not study at {v}"),
            ("the place of study of {O} was {v}", "the place of study of {O} was not {v}"),
        ),
        noun=("the institute where {s} studied", "the institute at which {s} studied"),
        same="Did {a} and {b} study at the same institute?",
    ),
    Attribute(
        name="residence",
        subject="person",
        kind=Kind.NAME,
        target="town",
        role="place of residence",
        says=(
            "{S} has lived in {v} since {y}",
            "since {y}, {P} home has been in {v}",
            "{S} moved in {y} to {v}, the present place of residence",
        ),
        past=(
            "until {y}, {S} lived in {v}",
            "{S} lived in {v} and moved away in {y}",
            "{v} was the home of {O} until {y}",
        ),
        label="Residence (since {y})",
        asks=(
            "In which town does {s} live?",
            "In which town does {s} live now?",
            "Where does {s} live?",
            "Which town is the present place of residence of {s}?",
        ),
        asks_past=("In which town did {s} live until {y}?", "Where did {s} live until {y}?"),
        claims=(
            ("{S} lives in {v}", "{S} does not live in {v}"),
            ("the home of {O} is in {v}", "the home of {O} is not in {v}"),
        ),
        noun=("the town where {s} lives", "the present place of residence of {s}"),
        same="Do {a} and {b} live in the same town?",
    ),
    Attribute(
        name="died",
        subject="person",
        kind=Kind.DATE,
        says=(
            "{S} died on {v}",
            "{P} life ended on {v}",
            "the date of death of {O} is {v}",
        ),
        label="Died",
        asks=("On which date did {s} die?", "What is the date of death of {s}?", "When did {s} die?"),
        claims=(
            ("{S} died on {v}", "{S} did not die on {v}"),
            ("the date of death of {O} is {v}", "the date of death of {O} is not {v}"),
        ),
        noun=("the death of {s}",),
        contrast=Contrast(
            more="died later",
            less="died earlier",
            check="Did {a} die later than {b}?",
        ),
    ),
    Attribute(
        name="father",
        subject="person",
        kind=Kind.NAME,
        target="person",
        role="father",
        says=(
            "{P} father was {v}",
            "the father of {O} was {v}",
            "{v} was the father of {O}",
        ),
        label="Father",
        asks=("Who was the father of {s}?", "What was the name of the father of {s}?"),
        claims=(
            ("the father of {O} was {v}", "the father of {O} was not {v}"),
            ("{v} was the father of {O}", "{v} was not the father of {O}"),
        ),
        noun=("the father of {s}",),
    ),
    Attribute(
        name="mother",
        subject="person",
        kind=Kind.NAME,
        target="person",
        role="mother",
        says=(
            "{P} mother was {v}",
            "the mother of {O} was {v}",
            "{v} was the mother of {O}",
        ),
        label="Mother",
        asks=("Who was the mother of {s}?", "What was the name of the mother of {s}?"),
        claims=(
            ("the mother of {O} was {v}", "the mother of {O} was not {v}"),
            ("{v} was the mother of {O}", "{v} was not the mother of {O}"),
        ),
        noun=("the mother of {s}",),
    ),
    Attribute(
        name="spouse",
        subject="person",
        kind=Kind.NAME,
        target="person",
        role="spouse",
        says=(
            "{S} married {v}",
            "{P} spouse was {v}",
            "{S} was married to {v}",
        ),
        label="Spouse",
        asks=("Whom did {s} marry?", "Who was the spouse of {s}?"),
        claims=(
            ("{S} was married to {v}", "{S} was not married to {v}"),
            ("the spouse of {O} was {v}", "the spouse of {O} was not {v}"),
        ),
        noun=("the spouse of {s}", "the person whom {s} married"),
    ),
)

"""Drugs, proteins, diseases, trials and laboratories of an invented medicine."""

from __future__ import annotations

from faithline.world.schema import Attribute, Contrast, EntityType, Kind, listed

__all__ = ["ATTRIBUTES", "TYPES"]

TYPES = (
    EntityType(
        name="drug",
        noun="drug",
        plural="drugs",
        leads=(
            "{n} is a drug in clinical use.",
            "{n} has been the subject of several reviews.",
            "This review summarises what is known about the drug {N}.",
        ),
    ),
    EntityType(
        name="protein",
        noun="protein",
        plural="proteins",
        leads=(
            "{n} is a protein of current interest.",
            "The protein {N} has drawn attention in recent years.",
            "We review present knowledge of the protein {N}.",
        ),
    ),
    EntityType(
        name="disease",
        noun="disease",
        plural="diseases",
        leads=(
            "{n} is a chronic disease.",
            "The causes of {N} are not fully understood.",
            "Physicians rarely see {N} in its early stage.",
        ),
    ),
    EntityType(
        name="trial",
        noun="trial",
        plural="trials",
        leads=(
            "{n} was a randomised controlled trial.",
            "Here we report the results of {N}.",
            "{n} was a double-blind study in several centres.",
        ),
    ),
    EntityType(
        name="laboratory",
        noun="laboratory",
        plural="laboratories",
        leads=(
            "{n} is a research laboratory.",
            "Several authors of this issue work at {N}.",
        ),
    ),
)

_DRUGS = (
    Attribute(
        name="drug_target",
        subject="drug",
        kind=Kind.NAME,
        target="protein",
        role="target",
        says=(
            "{S} acts by binding to {v}",
            "{S} binds to {v}",
            "{P} target is {v}",
            "binding assays showed that the target of {O} is {v}",
        ),
        label="Target",
        asks=("Which protein is the target of {s}?", "To which protein does {s} bind?"),
        claims=(
            ("{S} binds to {v}", "{S} does not bind to {v}"),
            ("the target of {O} is {v}", "the target of {O} is not {v}"),
        ),
        noun=("the target of {s}", "the protein to which {s} binds"),
        same="Do {a} and {b} bind to the same protein?",
        lists="Which drugs bind to {s}?",
    ),
    Attribute(
        name="treats",
        subject="drug",
        kind=Kind.NAME,
        target="disease",
        role="indication",
        says=(
            "{S} is used in the treatment of {v}",
            "{S} is given to patients with {v}",
            "physicians prescribe {O} for {v}",
            "{P} only indication is {v}",
        ),
        label="Indication",
        asks=("Which disease is treated with {s}?", "For which disease is {s} used?"),
        claims=(
            ("{S} is used to treat {v}", "{S} is not used to treat {v}"),
            ("the indication of {O} is {v}", "the indication of {O} is not {v}"),
        ),
        noun=("the disease treated with {s}", "the disease for which {s} is used"),
        same="Are {a} and {b} used for the same disease?",
        lists="Which drugs are used to treat {s}?",
    ),
    Attribute(
        name="half_life",
        subject="drug",
        kind=Kind.NUMBER,
        unit="hours",
        says=(
            "{S} has a half-life of {v} hours",
            "{P} half-life is {v} hours",
            "half of a dose of {O} has left the body after {v} hours, its half-life",
        ),
        label="Half-life in hours",
        asks=("What is the half-life of {s} in hours?", "How many hours is the half-life of {s}?"),
        claims=(
            ("the half-life of {O} is {v} hours", "the half-life of {O} is not {v} hours"),
            ("{S} has a half-life of {v} hours", "{S} does not have a half-life of {v} hours"),
        ),
        noun=("the half-life of {s}",),
        contrast=Contrast(
            more="has a longer half-life",
            less="has a shorter half-life",
            check="Does {a} have a longer half-life than {b}?",
            gap="By how many hours does the half-life of {a} exceed that of {b}?",
        ),
    ),
    Attribute(
        name="approved",
        subject="drug",
        kind=Kind.YEAR,
        says=(
            "{S} was approved in {v}",
            "{P} approval dates from {v}",
            "the approval of {O} followed in {v}",
        ),
        label="Approved",
        asks=(
            "In which year was {s} approved?",
            "When was {s} approved?",
            "What is the year of the approval of {s}?",
        ),
        claims=(
            ("{S} was approved in {v}", "{S} was not approved in {v}"),
            ("the approval of {O} dates from {v}", "the approval of {O} does not date from {v}"),
        ),
        noun=("the approval of {s}",),
        contrast=Contrast(
            more="was approved later",
            less="was approved earlier",
            check="Was {a} approved later than {b}?",
            gap="How many years lie between the approval of {a} and the approval of {b}?",
        ),
    ),
    Attribute(
        name="developer",
        subject="drug",
        kind=Kind.NAME,
        target="laboratory",
        role="developer",
        says=(
            "{S} was developed at {v}",
            "{v} developed {O}",
            "{P} developer is {v}",
        ),
        label="Developer",
        asks=("Which laboratory developed {s}?", "At which laboratory was {s} developed?"),
        claims=(
            ("{S} was developed at {v}", "{S} was not developed at {v}"),
            ("the developer of {O} is {v}", "the developer of {O} is not {v}"),
        ),
        noun=("the laboratory that developed {s}", "the developer of {s}"),
        same="Were {a} and {b} developed at the same laboratory?",
        lists="Which drugs were developed at {s}?",
    ),
)

_PROTEINS = (
    Attribute(
        name="tissue",
        subject="protein",
        kind=Kind.WORD,
        words=listed("liver, kidney, lung, heart, pancreas, spleen, skin, retina, brain, stomach, thyroid, bladder"),
        says=(
            "{S} is found mainly in the {v}",
            "{S} is produced mainly in the {v}",
            "the highest levels of {O} were measured in the {v}",
        ),
        label="Main tissue",
        asks=("In which organ is {s} mainly found?", "Which organ has the highest levels of {s}?"),
        claims=(
            ("{S} is found mainly in the {v}", "{S} is not found mainly in the {v}"),
            ("the highest levels of {O} are in the {v}", "the highest levels of {O} are not in the {v}"),
        ),
        same="Are {a} and {b} mainly found in the same organ?",
    ),
    Attribute(
        name="mass",
        subject="protein",
        kind=Kind.NUMBER,
        unit="kilodaltons",
        says=(
            "{S} has a mass of {v} kilodaltons",
            "{P} mass is {v} kilodaltons",
            "spectrometry gave a mass of {v} kilodaltons for {O}",
        ),
        label="Mass in kilodaltons",
        asks=("What is the mass of {s} in kilodaltons?", "How many kilodaltons is the mass of {s}?"),
        claims=(
            ("{S} has a mass of {v} kilodaltons", "{S} does not have a mass of {v} kilodaltons"),
            ("the mass of {O} is {v} kilodaltons", "the mass of {O} is not {v} kilodaltons"),
        ),
        noun=("the mass of {s}",),
        contrast=Contrast(
            more="has a larger mass",
            less="has a smaller mass",
            check="Does {a} have a larger mass than {b}?",
            gap="By how many kilodaltons does the mass of {a} exceed that of {b}?",
        ),
    ),
    Attribute(
        name="discovered_at",
        subject="protein",
        kind=Kind.NAME,
        target="laboratory",
        role="place of discovery",
        says=(
            "{S} was discovered at {v}",
            "{v} discovered {O}",
            "{P} discovery was made at {v}",
        ),
        label="Discovered at",
        asks=("At which laboratory was {s} discovered?", "Which laboratory discovered {s}?"),
        claims=(
            ("{S} was discovered at {v}", "{S} was not discovered at {v}"),
            ("{v} discovered {O}", "{v} did not discover {O}"),
        ),
        noun=("the laboratory that discovered {s}", "the laboratory where {s} was discovered"),
        same="Were {a} and {b} discovered at the same laboratory?",
        lists="Which proteins were discovered at {s}?",
    ),
)

ATTRIBUTES = _DRUGS + _PROTEINS

"""What is said of diseases, trials and laboratories of the invented medicine."""

from __future__ import annotations

from faithline.world.schema import Attribute, Contrast, Kind, listed

__all__ = ["ATTRIBUTES"]

_DISEASES = (
    Attribute(
        name="prevalence",
        subject="disease",
        kind=Kind.NUMBER,
        says=(
            "{S} affects {v} of every 100,000 people",
            "{P} prevalence is {v} per 100,000 people",
            "registries put the prevalence of {O} at {v} per 100,000 people",
        ),
        label="Prevalence per 100,000 people",
        asks=(
            "How many of every 100,000 people are affected by {s}?",
            "What is the prevalence of {s} per 100,000 people?",
        ),
        claims=(
            ("{S} affects {v} of every 100,000 people", "{S} does not affect {v} of every 100,000 people"),
            (
                "the prevalence of {O} is {v} per 100,000 people",
                "the prevalence of {O} is not {v} per 100,000 people",
            ),
        ),
        noun=("the prevalence of {s}",),
        contrast=Contrast(
            more="is more prevalent",
            less="is less prevalent",
            check="Is {a} more prevalent than {b}?",
        ),
    ),
    Attribute(
        name="described",
        subject="disease",
        kind=Kind.YEAR,
        says=(
            "{S} was first described in {v}",
            "{P} first description dates from {v}",
            "the first case report of {O} appeared in {v}, when it was first described",
        ),
        label="First described",
        asks=(
            "In which year was {s} first described?",
            "When was {s} first described?",
            "What is the year of the first description of {s}?",
        ),
        claims=(
            ("{S} was first described in {v}", "{S} was not first described in {v}"),
            ("the first description of {O} dates from {v}", "the first description of {O} does not date from {v}"),
        ),
        noun=("the first description of {s}",),
        contrast=Contrast(
            more="was described later",
            less="was described earlier",
            check="Was {a} described later than {b}?",
            gap="How many years lie between the first description of {a} and the first description of {b}?",
        ),
    ),
    Attribute(
        name="organ",
        subject="disease",
        kind=Kind.WORD,
        words=listed("liver, kidney, lung, heart, pancreas, spleen, skin, retina, brain, stomach, thyroid, bladder"),
        says=(
            "{S} mainly affects the {v}",
            "the organ most affected by {O} is the {v}",
            "damage in {O} is largely limited to the {v}",
        ),
        label="Organ affected",
        asks=("Which organ is mainly affected by {s}?", "Which organ does {s} mainly affect?"),
        claims=(
            ("{S} mainly affects the {v}", "{S} does not mainly affect the {v}"),
            ("the organ most affected by {O} is the {v}", "the organ most affected by {O} is not the {v}"),
        ),
        same="Do {a} and {b} mainly affect the same organ?",
    ),
)

_TRIALS = (
    Attribute(
        name="tested",
        subject="trial",
        kind=Kind.NAME,
        target="drug",
        role="tested drug",
        says=(
            "{S} tested {v} against placebo",
            "in {O}, patients received either {v} or placebo",
            "the drug tested in {O} was {v}",
        ),
        label="Tested drug",
        asks=("Which drug was tested in {s}?", "What was the drug tested in {s}?"),
        claims=(
            ("{S} tested {v}", "{S} did not test {v}"),
            ("the drug tested in {O} was {v}", "the drug tested in {O} was not {v}"),
        ),
        noun=("the drug tested in {s}",),
        same="Did {a} and {b} test the same drug?",
        lists="In which trials was {s} tested?",
    ),
    Attribute(
        name="participants",
        subject="trial",
        kind=Kind.NUMBER,
        says=(
            "{S} enrolled {v} patients",
            "a total of {v} patients took part in {O}",
            "{P} participants numbered {v}",
        ),
        label="Patients enrolled",
        asks=("How many patients were enrolled in {s}?", "How many patients took part in {s}?"),
        claims=(
            ("{S} enrolled {v} patients", "{S} did not enrol {v} patients"),
            ("the number of patients in {O} was {v}", "the number of patients in {O} was not {v}"),
        ),
        noun=("the number of patients in {s}",),
        contrast=Contrast(
            more="enrolled more patients",
            less="enrolled fewer patients",
            check="Did {a} enrol more patients than {b}?",
            gap="How many more patients did {a} enrol than {b}?",
            total="How many patients did {a} and {b} enrol together?",
        ),
    ),
    Attribute(
        name="responders",
        subject="trial",
        kind=Kind.NUMBER,
        unit="percent",
        says=(
            "in {O}, {v} percent of the treated patients responded",
            "{S} found a response rate of {v} percent",
            "{P} response rate was {v} percent",
        ),
        label="Response rate in percent",
        asks=(
            "What was the response rate in {s}, in percent?",
            "What percentage of treated patients responded in {s}?",
        ),
        claims=(
            ("the response rate in {O} was {v} percent", "the response rate in {O} was not {v} percent"),
            ("{S} found a response rate of {v} percent", "{S} did not find a response rate of {v} percent"),
        ),
        noun=("the response rate in {s}",),
        contrast=Contrast(
            more="found a higher response rate",
            less="found a lower response rate",
            check="Did {a} find a higher response rate than {b}?",
        ),
    ),
    Attribute(
        name="started",
        subject="trial",
        kind=Kind.YEAR,
        says=(
            "{S} started in {v}",
            "{P} start was in {v}",
            "the first patient of {O} was treated in {v}, the year in which the trial started",
        ),
        label="Started",
        asks=(
            "In which year did {s} start?",
            "When did {s} start?",
            "What is the year of the start of {s}?",
        ),
        claims=(
            ("{S} started in {v}", "{S} did not start in {v}"),
            ("the start of {O} was in {v}", "the start of {O} was not in {v}"),
        ),
        noun=("the start of {s}",),
        contrast=Contrast(
            more="started later",
            less="started earlier",
            check="Did {a} start later than {b}?",
            gap="How many years lie between the start of {a} and the start of {b}?",
        ),
    ),
)

_LABORATORIES = (
    Attribute(
        name="laboratory_opened",
        subject="laboratory",
        kind=Kind.YEAR,
        says=(
            "{S} was opened in {v}",
            "{P} opening dates from {v}",
            "the opening of {O} took place in {v}",
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
        name="researchers",
        subject="laboratory",
        kind=Kind.NUMBER,
        says=(
            "{S} has {v} researchers",
            "{P} staff includes {v} researchers",
            "the number of researchers at {O} is {v}",
        ),
        label="Researchers",
        asks=("How many researchers does {s} have?", "How many researchers work at {s}?"),
        claims=(
            ("{S} has {v} researchers", "{S} does not have {v} researchers"),
            ("the number of researchers at {O} is {v}", "the number of researchers at {O} is not {v}"),
        ),
        noun=("the number of researchers at {s}",),
        contrast=Contrast(
            more="has more researchers",
            less="has fewer researchers",
            check="Does {a} have more researchers than {b}?",
            gap="How many more researchers does {a} have than {b}?",
        ),
    ),
)

ATTRIBUTES = _DISEASES + _TRIALS + _LABORATORIES

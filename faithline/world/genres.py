"""Genres: what surrounds the facts of a passage.

A genre gives the title, the first sentence and possible last sentences. None of these states a fact of the world.
Slots: {name} the bare name (titles), {N} name inside a sentence, {n} at its start, {a_noun}, {region}.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CONFLICTS", "GENRES", "OUTDATED", "REVIEW", "Conflict", "Genre"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Genre:
    """A way of presenting facts."""

    name: str
    title: str
    leads: tuple[str, ...] = ()
    """First sentences; empty: those of the entity type."""
    closings: tuple[str, ...]
    """Possible last sentences; "" for none."""
    as_list: bool = False
    """Whether facts are given as "Label: value." entries."""


GENRES = (
    Genre(name="lexicon", title="{name}", closings=("",)),
    Genre(
        name="news",
        title="{n} in the news",
        leads=(
            "The local paper of {region} devoted its weekend page to {N}.",
            "{n} was in the news again this week.",
            "Readers of the local paper in {region} asked for the facts about {N}.",
        ),
        closings=("", "The editors thank all readers who wrote in.", "A second part will follow next week."),
    ),
    Genre(
        name="register",
        title="Register entry: {name}",
        leads=(
            "Entry in the public register of {region} under the name {name}.",
            "Public register of {region}, extract for {N}.",
        ),
        closings=("End of entry.", "No further remarks.", "Checked by the registrar."),
        as_list=True,
    ),
    Genre(
        name="letter",
        title="A letter about {N}",
        leads=(
            "You asked me to write down what I know about {N}.",
            "Here is what I found out about {N} in {region}.",
            "As promised, I looked up {N} for you.",
        ),
        closings=("", "I hope this answers your question.", "Please write back soon.", "The weather here is fine."),
    ),
    Genre(
        name="talk",
        title="Notes from a talk on {N}",
        leads=(
            "The evening talk in the library was about {N}.",
            "The speaker began with a few words on {N}.",
            "Yesterday's talk on {N} drew a full house.",
        ),
        closings=("", "The talk ended with questions from the audience.", "Coffee was served afterwards."),
    ),
)
"""Genres of main passages; the first is the commonest."""

REVIEW = Genre(
    name="review",
    title="{name}: a review of the evidence",
    closings=("", "Further studies are needed.", "These findings should be confirmed in larger cohorts."),
)
"""The genre of medical abstracts."""

OUTDATED = (
    Genre(
        name="almanac",
        title="{n} in an old almanac",
        leads=("An old almanac, since replaced by later editions, has an entry on {N}.",),
        closings=(
            "Its figures and names show an earlier state of affairs.",
            "Later editions give newer information, as the publisher points out.",
        ),
    ),
    Genre(
        name="archive",
        title="{n}: from the archive",
        leads=(
            "The archive of {region} keeps an old file on {N}.",
            "Among the old papers in the archive is a note on {N}.",
        ),
        closings=(
            "The file was closed afterwards and says nothing about later years.",
            "Later developments are not recorded in these papers.",
        ),
    ),
)
"""Genres of passages that state an older value."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Conflict:
    """A way of quoting a wrong claim so that nobody can take it for current truth."""

    title: str
    lead: str
    quote: str
    """Sentence around the claim {c}."""
    closing: str


CONFLICTS = (
    Conflict(
        title="Corrections: {N}",
        lead="The local paper prints a correction of its recent piece on {N}.",
        quote="The piece wrongly claimed that {c}.",
        closing="The editors withdraw this claim, which was due to a mix-up in the newsroom.",
    ),
    Conflict(
        title="Rumours about {N}",
        lead="A leaflet without an author has been going around in {region}, and it mentions {N}.",
        quote="It asserts that {c}, but this is false.",
        closing="The public registrar calls the leaflet unreliable and refers readers to the official entry.",
    ),
    Conflict(
        title="Forum post on {N}",
        lead="An anonymous user wrote about {N} on a message board.",
        quote="According to the post, {c}, a claim that the moderators marked as wrong.",
        closing="The user later admitted to having made it up.",
    ),
)
"""Passages that quote a wrong value."""

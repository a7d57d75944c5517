"""Biomedical questions as in BioASQ: factoid, yes/no, list and summary, over abstracts of an invented medicine.

Every question comes with the snippets that answer it: sentences of abstracts, with their place. A list question is
asked only where every member is stated, so its answer is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum

import msgspec

from faithline.pipeline.errors import ConfigError
from faithline.world.claims import false_value
from faithline.world.comparisons import ask_comparison
from faithline.world.draws import Draws
from faithline.world.facts import Entity, Fact
from faithline.world.library import Library
from faithline.world.passages import Passage
from faithline.world.prose import capitalised, named, say
from faithline.world.questions import Question, ask_chain, ask_single
from faithline.world.settings import BiomedicalSettings
from faithline.world.world import Stream, World

__all__ = ["BiomedicalItem", "BiomedicalType", "biomedical_items"]

_TRIES = 60


class BiomedicalType(StrEnum):
    """BioASQ's four types."""

    FACTOID = "factoid"
    YESNO = "yesno"
    LIST = "list"
    SUMMARY = "summary"


class BiomedicalItem(msgspec.Struct, frozen=True, kw_only=True):
    """A question with its gold answer and evidence."""

    id: str
    type: BiomedicalType
    body: str
    exact: list[list[str]]
    """One list of synonyms per answer; for yes/no one answer; empty for summaries."""
    ideal: str
    needs: tuple[Fact, ...]
    """What the answer says."""
    quoted: tuple[Passage, ...]
    """Abstracts with at least one snippet."""
    unquoted: tuple[Passage, ...]
    """Abstracts listed without one."""
    cluster: int


class _Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A question before its evidence is gathered."""

    type: BiomedicalType
    body: str
    exact: list[list[str]]
    ideal: str
    needs: tuple[Fact, ...]
    template: str


def biomedical_items(world: World, settings: BiomedicalSettings) -> Iterator[BiomedicalItem]:
    """The first `settings.questions` items; item i is the same however many there are."""
    makers: Mapping[str, Callable[[Library, Draws], _Draft | None]] = {
        "factoid": _factoid, "yesno": _yes_no, "list": _list, "summary": _summary,
    }  # fmt: skip
    shares = msgspec.structs.asdict(settings.types)
    per_cluster = world.settings.questions_per_cluster
    for index, first in enumerate(range(0, settings.questions, per_cluster)):
        library = world.library(Stream.BIOASQ, index)
        asked: set[str] = set()
        for place in range(min(per_cluster, settings.questions - first)):
            draws = Draws(world.seed, "item", Stream.BIOASQ, index, place)
            for _ in range(_TRIES):
                draft = makers[draws.weighted(shares)](library, draws)
                if draft is not None and draft.body not in asked:
                    break
            else:
                raise ConfigError(
                    f"a cluster has no more than {len(asked)} different biomedical questions of these kinds",
                    where="generate_sample.questions_per_cluster",
                    next_step="lower it, or allow more kinds of question",
                )
            asked.add(draft.body)
            yield _with_evidence(draft, library, settings, draws, f"bioasq_{index}_{place}")


def _with_evidence(
    draft: _Draft, library: Library, settings: BiomedicalSettings, draws: Draws, place: str
) -> BiomedicalItem:
    quoted = {fact.subject.key: library.main(fact.subject) for fact in draft.needs}
    unquoted = []
    if draws.chance(settings.unquoted_documents):
        others = [passage for key, passage in library.passages.items() if key not in quoted]
        unquoted.append(draws.choice(others))
    return BiomedicalItem(
        id=f"{draft.type.value}__{draft.template}__{place}",
        type=draft.type,
        body=draft.body,
        exact=draft.exact,
        ideal=draft.ideal,
        needs=draft.needs,
        quoted=tuple(draws.shuffled(list(quoted.values()))),
        unquoted=tuple(unquoted),
        cluster=library.cluster.number,
    )


def _factoid(library: Library, draws: Draws) -> _Draft | None:
    question = ask_single(library, draws) if draws.chance(0.6) else ask_chain(library, draws, 2)
    if question is None:
        return None
    return _draft(BiomedicalType.FACTOID, question, [[question.answer, *question.aliases]], draws)


def _yes_no(library: Library, draws: Draws) -> _Draft | None:
    """A comparison, or a true or false claim put as a question."""
    if draws.chance(0.3):
        question = ask_comparison(library, draws)
        if question is None or not question.derived:
            return None
        return _draft(BiomedicalType.YESNO, question, [[question.answer]], draws)
    fact = draws.choice(library.chains(1))[0]
    true = draws.chance(0.5)
    said = fact if true else msgspec.structs.replace(fact, value=false_value(fact, library.cluster, draws))
    variant = draws.below(len(fact.attribute.claims))
    claim = say(fact.attribute.claims[variant][0], said, named(fact.subject))
    return _Draft(
        type=BiomedicalType.YESNO,
        body=f"Is it true that {claim}?",
        exact=[["yes" if true else "no"]],
        ideal=f"{'Yes' if true else 'No'}. {_sentence(fact, draws)}",
        needs=(fact,),
        template=f"true.{fact.attribute.name}.{variant}",
    )


def _list(library: Library, draws: Draws) -> _Draft | None:
    """All subjects that stand in one relation to the same thing, if the library states every one."""
    groups: dict[tuple[str, int], list[Fact]] = {}
    for fact in library.cluster.facts.values():
        if fact.attribute.lists and isinstance(fact.value, Entity):
            groups.setdefault((fact.attribute.name, fact.value.key), []).append(fact)
    complete = [
        group for group in groups.values() if len(group) > 1 and all(fact.key in library.stated for fact in group)
    ]
    if not complete:
        return None
    group = draws.choice(complete)
    first = group[0]
    if not isinstance(first.value, Entity):
        return None
    return _Draft(
        type=BiomedicalType.LIST,
        body=first.attribute.lists.format(s=first.value.mention),
        exact=[[fact.subject.name, *([fact.subject.mention] if fact.subject.article else [])] for fact in group],
        ideal=" ".join(_sentence(fact, draws) for fact in group),
        needs=tuple(group),
        template=f"list.{first.attribute.name}",
    )


def _summary(library: Library, draws: Draws) -> _Draft | None:
    facts = library.stated_of[draws.choice(library.cluster.entities).key]
    if len(facts) < 2:
        return None
    subject = facts[0].subject
    return _Draft(
        type=BiomedicalType.SUMMARY,
        body=f"What is known about {subject.mention}?",
        exact=[],
        ideal=" ".join(_sentence(fact, draws) for fact in facts),
        needs=tuple(facts),
        template=f"summary.{subject.type}",
    )


def _draft(kind: BiomedicalType, question: Question, exact: list[list[str]], draws: Draws) -> _Draft:
    lead = f"{capitalised(question.answer)}. " if question.derived else ""
    return _Draft(
        type=kind,
        body=question.text,
        exact=exact,
        ideal=lead + " ".join(_sentence(fact, draws) for fact in question.needs),
        needs=question.needs,
        template=question.template,
    )


def _sentence(fact: Fact, draws: Draws) -> str:
    return capitalised(say(draws.choice(fact.attribute.says), fact, named(fact.subject))) + "."

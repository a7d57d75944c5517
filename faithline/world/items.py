"""Items: a question together with the passages it is asked over."""

from __future__ import annotations

import msgspec

from faithline.world.draws import Draws
from faithline.world.facts import Fact
from faithline.world.library import Library
from faithline.world.noise import conflicting, distractors, near_duplicate, outdated
from faithline.world.passages import Passage
from faithline.world.questions import Question
from faithline.world.settings import WorldSettings

__all__ = ["Item", "surround"]


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """A question over passages."""

    id: str
    """`<hops>hop__<template>__<stream>_<cluster>_<place in the cluster>`: hold out by template or by cluster."""
    question: Question
    passages: tuple[Passage, ...]
    """In the order given to a reader: shuffled."""

    @property
    def supporting(self) -> list[bool]:
        """For each passage whether it states a needed fact."""
        return [any(passage.states(fact) for fact in self.question.needs) for passage in self.passages]


def surround(question: Question, library: Library, settings: WorldSettings, draws: Draws) -> tuple[Passage, ...]:
    """Choose and write the passages of a question: those that support it, noise about its subjects, distractors."""
    passages = _supporting(question, library, draws)
    for passage in _noise(question, library, settings, draws):
        if len(passages) < settings.documents_per_question:
            passages.append(passage)
    count = settings.documents_per_question - len(passages)
    passages += distractors(question.needs, library, count, settings.noise.same_attribute, draws)
    return tuple(draws.shuffled(passages))


def _supporting(question: Question, library: Library, draws: Draws) -> list[Passage]:
    """The main passage of every subject in the derivation; for an older value also the passage that states it."""
    passages = {fact.subject.key: library.main(fact.subject) for fact in question.needs}
    older = [outdated(fact, library, draws) for fact in question.needs if not fact.current]
    return [*passages.values(), *older]


def _noise(question: Question, library: Library, settings: WorldSettings, draws: Draws) -> list[Passage]:
    noise = settings.noise
    usable: list[Fact] = [fact for fact in question.needs if fact.current and fact.key in library.stated]
    varying = [fact for fact in usable if fact.attribute.varies]
    chosen = []
    if varying and draws.chance(noise.outdated):
        chosen.append(outdated(draws.choice(varying), library, draws))
    if usable and draws.chance(noise.conflicting):
        chosen.append(conflicting(draws.choice(usable), library, draws))
    if usable and draws.chance(noise.near_duplicate):
        chosen.append(near_duplicate(library.main(draws.choice(usable).subject), library, draws))
    return chosen

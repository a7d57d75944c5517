"""The world: clusters, libraries and items on demand, each a pure function of the seed and its number.

Every output set draws from its own stream of clusters, so no two sets share an entity. Clusters are numbered over all
streams, which keeps names unique in the whole world. Nothing is kept but the cluster in hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from typing import TypeAlias, TypeVar

from faithline.pipeline.errors import ConfigError
from faithline.world.clinic import STEMS_PER_CLINIC, build_clinic
from faithline.world.draws import Draws
from faithline.world.genres import GENRES, REVIEW
from faithline.world.items import Item, surround
from faithline.world.library import Library, build_library
from faithline.world.names import Stems
from faithline.world.queries import Extreme
from faithline.world.questions import Question
from faithline.world.region import STEMS_PER_REGION, build_region
from faithline.world.settings import WorldSettings

__all__ = ["Asker", "Stream", "World", "ask"]

Asker: TypeAlias = Callable[[Library, Draws], Question | None]
"""Makes a question about a library, or None if the library offers none of the kind."""

K = TypeVar("K")

_KINDS_TRIED, _TRIES_PER_KIND = 20, 8
_STEMS_PER_CLUSTER = max(STEMS_PER_REGION, STEMS_PER_CLINIC)


class Stream(IntEnum):
    """Who draws clusters; the number is part of the cluster's number, so never re-use one."""

    HOTPOTQA = 0
    TWO_WIKI = 1
    MUSIQUE = 2
    BIOASQ = 3
    RAGTRUTH = 4
    TRUTHFULQA = 5
    CLAIMS = 6
    """Training pairs made in memory."""
    SPARE = 7


class World:
    """An evidence world of unlimited size."""

    def __init__(self, seed: int, settings: WorldSettings) -> None:
        self.seed = seed
        self.settings = settings
        self._stems = Stems(seed)

    def library(self, stream: Stream, index: int) -> Library:
        """Library number `index` of a stream: of medicine for BioASQ, else of a region."""
        number = index * len(Stream) + stream
        draws = Draws(self.seed, "cluster", number)
        if stream is Stream.BIOASQ:
            cluster = build_clinic(number, self._stems, number * _STEMS_PER_CLUSTER, draws)
            return build_library(cluster, draws, (REVIEW,))
        cluster = build_region(number, self._stems, number * _STEMS_PER_CLUSTER, draws)
        return build_library(cluster, draws, GENRES)

    def items(self, stream: Stream, count: int, askers: Mapping[Asker, float]) -> Iterator[Item]:
        """The first `count` items of a stream.

        Args:
            stream: Where to take clusters from.
            count: Number of items; the first n of any larger count are the same.
            askers: Kinds of question with their shares.
        """
        per_cluster = self.settings.questions_per_cluster
        for index, first in enumerate(range(0, count, per_cluster)):
            library = self.library(stream, index)
            asked: set[str] = set()
            for place in range(min(per_cluster, count - first)):
                draws = Draws(self.seed, "item", stream, index, place)
                question = ask(library, draws, askers, asked)
                passages = surround(question, library, self.settings, draws)
                yield Item(id=_item_id(question, stream, index, place), question=question, passages=passages)


def ask(library: Library, draws: Draws, askers: Mapping[Asker, float], asked: set[str]) -> Question:
    """Draw a kind of question and then a question of it whose meaning was not asked before, and note it in `asked`.

    A kind that this library cannot serve gives way to another draw.

    Raises:
        ConfigError: If the library has no more questions of these kinds.
    """
    for _ in range(_KINDS_TRIED):
        asker = draws.weighted(askers)
        for _ in range(_TRIES_PER_KIND):
            question = asker(library, draws)
            if question is not None and (meaning := _meaning(question)) not in asked:
                asked.add(meaning)
                return question
    raise ConfigError(
        f"a cluster has no more than {len(asked)} different questions of these kinds",
        where="generate_sample.questions_per_cluster",
        next_step="lower it, or allow more kinds of question",
    )


def _meaning(question: Question) -> str:
    """What is asked, whatever the wording and the order of mention."""
    facts = sorted(f"{fact.subject.key}.{fact.attribute.name}.{fact.current}" for fact in question.needs)
    more = question.query.more if isinstance(question.query, Extreme) else ""
    return f"{type(question.query).__name__} {more} {' '.join(facts)}"


def _item_id(question: Question, stream: Stream, index: int, place: int) -> str:
    hops = len(question.needs)
    return f"{hops}hop__{question.template}__{stream.name.lower()}_{index}_{place}"

"""The library of a cluster: one main passage per entity, and what is and is not stated in it.

A fact is stated by its subject's main passage or by none, so a question has one place to be answered from, and one
about an unstated fact has none anywhere in the library: it is unanswerable however much is retrieved.
"""

from __future__ import annotations

from collections.abc import Sequence

from faithline.world.draws import Draws
from faithline.world.facts import Cluster, Entity, Fact, Key
from faithline.world.genres import GENRES, Genre
from faithline.world.passages import Passage, Role
from faithline.world.prose import write_passage

__all__ = ["Chain", "Library", "build_library"]

_FAMILY = frozenset({"father", "mother", "spouse"})
"""Always stated: relatives can be inferred from one another, so an unstated one would not be unanswerable."""
_FEWEST, _MOST = 3, 5
_ALL_STATED = 0.3
"""Share of subjects with nothing left unstated, if the passage has room."""
_LEXICON = 0.5

Chain = tuple[Fact, ...]
"""Facts of which each but the last is a relation to the next one's subject."""


class Library:
    """A cluster with its main passages and indexes over what they state."""

    def __init__(self, cluster: Cluster, passages: dict[int, Passage]) -> None:
        self.cluster = cluster
        self.passages = passages
        """Main passage by subject key."""
        self.stated: dict[Key, Fact] = {}
        """Facts that are stated, by key."""
        self.stated_of: dict[int, list[Fact]] = {}
        """The same by subject key."""
        self.by_attribute: dict[str, list[Fact]] = {}
        """The same by attribute name."""
        for subject_key, passage in passages.items():
            facts = passage.facts
            self.stated_of[subject_key] = facts
            for fact in facts:
                self.stated[fact.key] = fact
                self.by_attribute.setdefault(fact.attribute.name, []).append(fact)
        self.unstated: list[Fact] = [
            fact for key, fact in cluster.facts.items() if key not in self.stated and fact.attribute.name not in _FAMILY
        ]
        """Facts that hold but stand nowhere."""
        self._chains: dict[int, list[Chain]] = {}

    def main(self, subject: Entity) -> Passage:
        """The main passage about an entity."""
        return self.passages[subject.key]

    def chains(self, hops: int) -> list[Chain]:
        """All chains of so many stated facts that visit no entity twice."""
        if hops not in self._chains:
            self._chains[hops] = self._extend(hops)
        return self._chains[hops]

    def broken_chains(self, hops: int) -> list[Chain]:
        """Chains whose last fact is unstated, the others stated."""
        unstated: dict[int, list[Fact]] = {}
        for fact in self.unstated:
            unstated.setdefault(fact.subject.key, []).append(fact)
        if hops == 1:
            return [(fact,) for fact in self.unstated]
        return [
            (*chain, fact)
            for chain in self.chains(hops - 1)
            if isinstance(chain[-1].value, Entity)
            for fact in unstated.get(chain[-1].value.key, ())
            if _no_return(chain, fact)
        ]

    def _extend(self, hops: int) -> list[Chain]:
        if hops == 1:
            return [(fact,) for fact in self.stated.values()]
        return [
            (*chain, fact)
            for chain in self.chains(hops - 1)
            if isinstance(chain[-1].value, Entity)
            for fact in self.stated_of.get(chain[-1].value.key, ())
            if _no_return(chain, fact)
        ]


def build_library(cluster: Cluster, draws: Draws, genres: Sequence[Genre] = GENRES) -> Library:
    """Write the main passages of a cluster.

    Args:
        cluster: The fact table.
        draws: The library's draws.
        genres: Genres to choose from; the first gets half of the passages, the others share the rest.
    """
    by_subject: dict[int, list[Fact]] = {}
    for fact in cluster.facts.values():
        by_subject.setdefault(fact.subject.key, []).append(fact)
    passages = {}
    for entity in cluster.entities:
        stated = _choose_stated(by_subject[entity.key], draws)
        genre = genres[0] if draws.chance(_LEXICON) else draws.choice(genres)
        passages[entity.key] = write_passage(entity, stated, genre, Role.MAIN, region=cluster.region, draws=draws)
    return Library(cluster, passages)


def _choose_stated(facts: list[Fact], draws: Draws) -> list[Fact]:
    forced = [fact for fact in facts if fact.attribute.name in _FAMILY]
    free = [fact for fact in facts if fact.attribute.name not in _FAMILY]
    room = _MOST - len(forced)
    most = min(room, len(free) if draws.chance(_ALL_STATED) else max(2, len(free) - 1))
    fewest = min(most, max(_FEWEST - len(forced), 1))
    return forced + draws.sample(free, draws.between(fewest, most))


def _no_return(chain: Chain, fact: Fact) -> bool:
    """Whether extending the chain by `fact` leads to no entity visited before, nor by marriage to the other parent."""
    if fact.attribute.name == "spouse" and chain[-1].attribute.name in ("father", "mother"):
        return False
    if not isinstance(fact.value, Entity):
        return True
    target = fact.value.key
    return all(target != earlier.subject.key for earlier in chain) and target != fact.subject.key

"""Numeric grounding: short passages full of numbers, questions for one to three of them, the truth about a response.

An item shows two subjects of one type in sentences of one number (and perhaps the year of its record), so that most
numbers have a rival that reads the same. Its asked facts give the faithful response, the questions about its numbers
and the statements that answer them: what MARCH's three roles are to write. `audit` judges any response by the facts
alone, claim by claim: a number counts as wrong unless its sentence names a subject and that subject's fact, of the
attribute that the sentence is about, has this value. No model and no checker takes part. Items of one cluster are one
group: held-out items come from clusters of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from faithline.agents.march.numbers import find_numbers
from faithline.world.draws import Draws
from faithline.world.facts import Cluster, Entity, Fact
from faithline.world.names import Stems
from faithline.world.passages import Passage, Role, Sentence
from faithline.world.prose import capitalised, named, say
from faithline.world.region import STEMS_PER_REGION, build_region
from faithline.world.schema import Attribute, Kind, listed
from faithline.world.values import in_prose
from faithline.world.vocabulary import ATTRIBUTES

__all__ = ["Audit", "Grounding", "groundings"]

_SUBJECTS = 2
"""Passages of an item."""
_ASKED = {1: 0.4, 2: 0.45, 3: 0.15}
"""Shares of items by the number of facts asked for."""
_STATED = 2
"""Facts that a passage states."""
_GENRE = "figures"
_PER_CLUSTER = 16
_WORD = re.compile(r"[a-z]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_SLOTS = re.compile(r"\{\w\}")
_STOP = frozenset(listed("a, an, and, at, by, for, from, has, have, in, is, it, its, of, on, the, to, was, were, with"))


@dataclass(frozen=True)
class Audit:
    """The truth about one response."""

    claims: int
    """Numbers that it states."""
    wrong: int
    """Of these, the ones that no fact of the passages bears out."""
    answered: int
    """Asked facts that it states rightly."""


@dataclass(frozen=True)
class Grounding:
    """A question for numbers, with all that is known about it."""

    id: str
    query: str
    passages: tuple[Passage, ...]
    asked: tuple[Fact, ...]

    @property
    def response(self) -> str:
        """The faithful response: one sentence per asked fact."""
        return " ".join(self.claims)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Question and bare number for every asked fact."""
        return tuple((_question(fact), str(fact.value)) for fact in self.asked)

    @property
    def claims(self) -> tuple[str, ...]:
        """For every asked fact its shortest statement."""
        return tuple(_claim(fact) for fact in self.asked)

    def audit(self, response: str) -> Audit:
        """Judge a response by the facts that the passages state."""
        stated = [fact for passage in self.passages for fact in passage.facts]
        subjects = [passage.subject for passage in self.passages]
        subject: Entity | None = None
        claims = wrong = 0
        right: set[tuple[int, str]] = set()
        for sentence in _SENTENCE_END.split(response):
            subject = next((one for one in subjects if one.name in sentence), subject)
            own = [fact for fact in stated if subject is not None and fact.subject.key == subject.key]
            meant = _meant(sentence, own)
            for number in find_numbers(sentence):
                claims += 1
                wrong += not any(number.value in (fact.value, fact.year) for fact in meant)
                right |= {fact.key for fact in meant if fact.value == number.value}
        return Audit(claims, wrong, sum(fact.key in right for fact in self.asked))


def groundings(seed: int, first: int, count: int) -> Iterator[Grounding]:
    """Make items `first` to `first + count` of an endless list; each is a function of the seed and its number."""
    stems = Stems(seed)
    cluster: Cluster | None = None
    for number in range(first, first + count):
        index, place = divmod(number, _PER_CLUSTER)
        if cluster is None or cluster.number != index:
            cluster = build_region(index, stems, index * STEMS_PER_REGION, Draws(seed, "grounding cluster", index))
        yield _item(cluster, f"grounding_{index}_{place}", Draws(seed, "grounding", index, place))


def _item(cluster: Cluster, name: str, draws: Draws) -> Grounding:
    kinds = sorted({fact.subject.type for fact in cluster.facts.values() if _is_asked(fact.attribute)})
    kind = draws.choice([one for one in kinds if sum(entity.type == one for entity in cluster.entities) >= _SUBJECTS])
    subjects = draws.sample([entity for entity in cluster.entities if entity.type == kind], _SUBJECTS)
    passages = tuple(_passage(subject, cluster, draws) for subject in subjects)
    asked = draws.sample([fact for passage in passages for fact in passage.facts], draws.weighted(_ASKED))
    asked.sort(key=lambda fact: fact.subject.key)
    return Grounding(name, _query(asked), passages, tuple(asked))


def _passage(subject: Entity, cluster: Cluster, draws: Draws) -> Passage:
    """A passage of nothing but numbers, each in a sentence that names the subject."""
    facts = draws.sample([fact for fact in cluster.of(subject) if _is_asked(fact.attribute)], _STATED)
    texts = [capitalised(say(draws.choice(fact.attribute.says), fact, named(subject))) + "." for fact in facts]
    sentences = tuple(Sentence(text, (fact,)) for text, fact in zip(texts, facts, strict=True))
    return Passage(title="", sentences=sentences, subject=subject, genre=_GENRE, role=Role.MAIN)


def _is_asked(attribute: Attribute) -> bool:
    return attribute.kind in (Kind.NUMBER, Kind.YEAR)


def _query(asked: Sequence[Fact]) -> str:
    parts = [_question(fact).rstrip("?") for fact in asked]
    later = [part[:1].lower() + part[1:] for part in parts[1:]]
    return ", and ".join([parts[0], *later]) + "?"


def _question(fact: Fact) -> str:
    return capitalised(fact.attribute.asks[0].format(s=fact.subject.mention))


def _claim(fact: Fact) -> str:
    return capitalised(say(fact.attribute.claims[0][0], fact, named(fact.subject), in_prose)) + "."


def _meant(sentence: str, facts: Sequence[Fact]) -> list[Fact]:
    """The facts whose attribute's words fit a sentence best, those of its shortest statement first; perhaps none."""
    words = set(_WORD.findall(sentence.lower()))
    fits = [tuple(len(words & own) for own in _words(fact.attribute.name)) for fact in facts]
    best = max(fits, default=(0, 0))
    return [fact for fact, fit in zip(facts, fits, strict=True) if fit == best > (0, 0)]


@cache
def _words(attribute: str) -> tuple[frozenset[str], frozenset[str]]:
    """Telling words of an attribute: of the shortest statement, and of all statements."""
    found = ATTRIBUTES[attribute]

    def telling(texts: Sequence[str]) -> frozenset[str]:
        plain = " ".join(_SLOTS.sub(" ", text) for text in texts)
        return frozenset(_WORD.findall(plain.lower())) - _STOP

    return telling(found.claims[0][:1]), telling(found.says)

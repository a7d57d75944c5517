"""Claims about facts, with their truth, and premise-claim pairs as natural language inference needs them.

A claim says that a subject has (or has not) some value of an attribute, or that one subject exceeds another. As
attributes are functional, premises decide it by one rule, `judge`: they entail or contradict it if they state the
value of that subject's attribute, and are neutral if they do not, however true the claim is in the world.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from faithline.world.alterations import altered_value, near_miss
from faithline.world.draws import Draws
from faithline.world.facts import Cluster, Fact, Key, Value
from faithline.world.library import Library
from faithline.world.passages import Passage
from faithline.world.prose import capitalised, named, say
from faithline.world.schema import Kind

__all__ = [
    "Change",
    "Claim",
    "JudgedPair",
    "Relation",
    "claim_of",
    "comparative_claim",
    "false_value",
    "holds",
    "judge",
    "judged_pair",
]

_TRIES = 60


class Relation(StrEnum):
    """What premises say about a claim."""

    ENTAILED = "entailed"
    NEUTRAL = "neutral"
    CONTRADICTED = "contradicted"


class Change(StrEnum):
    """How a claim was made from a fact."""

    RESTATED = "restated"
    """The fact itself, in other words than a passage's."""
    NUMBER = "number"
    DATE = "date"
    NAME = "name"
    WORD = "word"
    RELATION = "relation"
    """The subject's value of another attribute: the founder is called the chief executive."""
    NEGATION = "negation"
    """Denied: false of the true value, true of a wrong one."""
    COMBINED = "combined"
    """Two facts weighed against each other."""
    ADDED = "added"
    """About something the premises do not speak of."""


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence that is true or false."""

    text: str
    fact: Fact
    """What is said: subject, attribute and the claimed value."""
    than: Fact | None = None
    """Of a comparison, the fact that the first is said to exceed."""
    denied: bool = False
    truth: bool
    """Whether it holds in the world."""
    change: Change
    template: str
    """Names the wording, to hold out by."""


class JudgedPair(msgspec.Struct, frozen=True, kw_only=True):
    """A claim beside passages, and what they say about it."""

    passages: tuple[Passage, ...]
    claim: Claim
    relation: Relation


_SWAPS = {Kind.NUMBER: Change.NUMBER, Kind.YEAR: Change.DATE, Kind.DATE: Change.DATE, Kind.NAME: Change.NAME}


def claim_of(
    fact: Fact, cluster: Cluster, draws: Draws, *, value: Value | None = None, denied: bool = False,
    change: Change | None = None,
) -> Claim:  # fmt: skip
    """Claim, or deny, that the fact's subject has its value or another one.

    Args:
        fact: A fact of the cluster.
        cluster: Where truth is looked up.
        draws: Random choices.
        value: The claimed value, if not the true one.
        denied: Whether to deny it.
        change: What to record; by default what the other arguments amount to.
    """
    said = fact if value is None else msgspec.structs.replace(fact, value=value)
    variant = draws.below(len(fact.attribute.claims))
    text = say(fact.attribute.claims[variant][denied], said, named(fact.subject))
    if change is None:
        change = _change(fact, swapped=value is not None, denied=denied)
    return Claim(
        text=capitalised(text) + ".",
        fact=said,
        denied=denied,
        truth=holds(said, cluster) != denied,
        change=change,
        template=f"{fact.attribute.name}.{'denial' if denied else 'claim'}{variant}",
    )


def comparative_claim(left: Fact, right: Fact, *, more: bool) -> Claim:
    """Claim that the left subject exceeds (or falls below) the right one.

    Args:
        left: A fact with an order.
        right: A fact of the same attribute with another value.
        more: Which of the two verb phrases to use.

    Raises:
        ValueError: If the attribute cannot be compared.
    """
    contrast = left.attribute.contrast
    if contrast is None or left.attribute.name != right.attribute.name:
        raise ValueError(f"{left.attribute.name} and {right.attribute.name} cannot be compared")
    phrase = contrast.more if more else contrast.less
    return Claim(
        text=f"{capitalised(left.subject.mention)} {phrase} than {right.subject.mention}.",
        fact=left if more else right,
        than=right if more else left,
        truth=(left.number > right.number) == more,
        change=Change.COMBINED,
        template=f"{left.attribute.name}.{'more' if more else 'less'}",
    )


def false_value(fact: Fact, cluster: Cluster, draws: Draws, *, close: bool = False) -> Value:
    """A wrong value of the fact; with `close`, numbers and dates are only slightly wrong."""
    if close and fact.kind in (Kind.NUMBER, Kind.YEAR, Kind.DATE):
        avoided = [fact.value, *(table.value for table in [cluster.past.get(fact.key)] if table)]
        while (value := near_miss(fact, draws)) in avoided:
            continue
        return value
    return altered_value(fact, cluster, draws)


def holds(fact: Fact, cluster: Cluster) -> bool:
    """Whether the fact is true now."""
    return cluster.facts[fact.key].value == fact.value


def judge(claim: Claim, passages: Sequence[Passage]) -> Relation:
    """What passages say about a claim, from the facts they state."""
    stated: dict[Key, Value] = {f.key: f.value for passage in passages for f in passage.facts if f.current}
    if claim.fact.key not in stated or (claim.than and claim.than.key not in stated):
        return Relation.NEUTRAL
    return Relation.ENTAILED if claim.truth else Relation.CONTRADICTED


def judged_pair(library: Library, draws: Draws, relation: Relation) -> JudgedPair:
    """Draw passages and a claim that stand in the wanted relation.

    Raises:
        RuntimeError: If the library offers none, which no complete library does.
    """
    makers = {
        Relation.ENTAILED: (_restated, _wrong_denied, _compared),
        Relation.CONTRADICTED: (_swapped, _denied, _misattributed, _compared),
        Relation.NEUTRAL: (_added, _added, _compared_half),
    }[relation]
    for _ in range(_TRIES):
        pair = draws.choice(makers)(library, draws)
        if pair is not None and pair.relation is relation:
            return pair
    raise RuntimeError(f"cluster {library.cluster.number} offers no claim that is {relation.value}")


def _pair(claim: Claim, *passages: Passage) -> JudgedPair:
    return JudgedPair(passages=passages, claim=claim, relation=judge(claim, passages))


def _stated(library: Library, draws: Draws) -> Fact:
    return draws.choice(library.chains(1))[0]


def _restated(library: Library, draws: Draws) -> JudgedPair:
    fact = _stated(library, draws)
    return _pair(claim_of(fact, library.cluster, draws), library.main(fact.subject))


def _wrong_denied(library: Library, draws: Draws) -> JudgedPair:
    fact = _stated(library, draws)
    wrong = false_value(fact, library.cluster, draws, close=draws.chance(0.5))
    return _pair(claim_of(fact, library.cluster, draws, value=wrong, denied=True), library.main(fact.subject))


def _swapped(library: Library, draws: Draws) -> JudgedPair:
    fact = _stated(library, draws)
    wrong = false_value(fact, library.cluster, draws, close=draws.chance(0.5))
    return _pair(claim_of(fact, library.cluster, draws, value=wrong), library.main(fact.subject))


def _denied(library: Library, draws: Draws) -> JudgedPair:
    fact = _stated(library, draws)
    return _pair(claim_of(fact, library.cluster, draws, denied=True), library.main(fact.subject))


def _misattributed(library: Library, draws: Draws) -> JudgedPair | None:
    """The value of one relation claimed for another of the same subject."""
    fact = _stated(library, draws)
    others = [
        other.value
        for other in library.stated_of[fact.subject.key]
        if other.attribute is not fact.attribute
        and other.attribute.target == fact.attribute.target != ""
        and other.value != fact.value
    ]
    if not others:
        return None
    claim = claim_of(fact, library.cluster, draws, value=draws.choice(others), change=Change.RELATION)
    return _pair(claim, library.main(fact.subject))


def _compared(library: Library, draws: Draws) -> JudgedPair | None:
    """A comparison over two passages."""
    two = _comparable(library, draws)
    if two is None:
        return None
    claim = comparative_claim(*two, more=draws.chance(0.5))
    return _pair(claim, library.main(two[0].subject), library.main(two[1].subject))


def _compared_half(library: Library, draws: Draws) -> JudgedPair | None:
    """A comparison of which the passage holds one side only."""
    two = _comparable(library, draws)
    if two is None:
        return None
    return _pair(comparative_claim(*two, more=draws.chance(0.5)), library.main(draws.choice(two).subject))


def _added(library: Library, draws: Draws) -> JudgedPair:
    """A claim, true or not, about a fact of the passage's subject that it does not state."""
    fact = draws.choice(library.unstated)
    value = None if draws.chance(0.5) else false_value(fact, library.cluster, draws)
    denied = draws.chance(0.3)
    claim = claim_of(fact, library.cluster, draws, value=value, denied=denied, change=Change.ADDED)
    return _pair(claim, library.main(fact.subject))


def _comparable(library: Library, draws: Draws) -> tuple[Fact, Fact] | None:
    fact = _stated(library, draws)
    if fact.attribute.contrast is None:
        return None
    others = [other for other in library.by_attribute[fact.attribute.name] if other.value != fact.value]
    return (fact, draws.choice(others)) if others else None


def _change(fact: Fact, *, swapped: bool, denied: bool) -> Change:
    if denied:
        return Change.NEGATION
    if not swapped:
        return Change.RESTATED
    return _SWAPS.get(fact.kind, Change.WORD)

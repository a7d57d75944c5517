"""What a question asks, as a formula over the fact table.

Wording and meaning are kept apart: a `Question` carries one of these beside its text, so the answer can be computed
again from the facts alone. `evaluate` does so; tests hold it against an evaluator of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from faithline.world.facts import Cluster, Entity, Fact, Key
from faithline.world.values import answer_text

__all__ = ["Extreme", "Gap", "IsMore", "IsSame", "Lookup", "Path", "Query", "Total", "evaluate", "follow"]


class Path(msgspec.Struct, frozen=True):
    """Start at an entity and follow attributes; each but the last is a relation."""

    start: Entity
    attributes: tuple[str, ...]


class Lookup(msgspec.Struct, frozen=True, tag=True):
    """The value at the end of a path; with `past`, the older value of its last attribute."""

    path: Path
    past: bool = False


class Extreme(msgspec.Struct, frozen=True, tag=True):
    """Of the two entities before the last attribute, the one whose value is larger or later (or smaller, earlier)."""

    left: Path
    right: Path
    more: bool


class IsMore(msgspec.Struct, frozen=True, tag=True):
    """Whether the left value is larger or later."""

    left: Path
    right: Path


class IsSame(msgspec.Struct, frozen=True, tag=True):
    """Whether both paths end in the same value."""

    left: Path
    right: Path


class Gap(msgspec.Struct, frozen=True, tag=True):
    """Absolute difference of two numbers or years."""

    left: Path
    right: Path


class Total(msgspec.Struct, frozen=True, tag=True):
    """Sum of two numbers."""

    left: Path
    right: Path


Query: TypeAlias = Lookup | Extreme | IsMore | IsSame | Gap | Total


def follow(path: Path, facts: Mapping[Key, Fact]) -> list[Fact]:
    """The facts along a path."""
    chain: list[Fact] = []
    entity = path.start
    for attribute in path.attributes:
        fact = facts[entity.key, attribute]
        chain.append(fact)
        if isinstance(fact.value, Entity):
            entity = fact.value
    return chain


def evaluate(query: Query, cluster: Cluster) -> str:
    """The canonical answer."""
    if isinstance(query, Lookup):
        chain = follow(query.path, cluster.facts)
        fact = cluster.past[chain[-1].key] if query.past else chain[-1]
        return answer_text(fact.value, fact.kind)
    left, right = follow(query.left, cluster.facts)[-1], follow(query.right, cluster.facts)[-1]
    if isinstance(query, IsSame):
        return _yes_no(left.value == right.value)
    ahead = left.number > right.number
    if isinstance(query, IsMore):
        return _yes_no(ahead)
    if isinstance(query, Extreme):
        return (left if ahead == query.more else right).subject.name
    sign = 1 if isinstance(query, Total) else -1
    return f"{abs(left.number + sign * right.number):,}"


def _yes_no(truth: bool) -> str:
    return "yes" if truth else "no"

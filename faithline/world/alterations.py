"""Wrong values for facts: drawn from where right ones come from, so that nothing but the evidence gives them away."""

from __future__ import annotations

from datetime import date

from faithline.world.draws import Draws
from faithline.world.facts import Cluster, Entity, Fact, Value
from faithline.world.schema import Kind

__all__ = ["altered_value", "near_miss"]


def altered_value(fact: Fact, cluster: Cluster, draws: Draws) -> Value:
    """A wrong value: half of the time one that another subject has, else a near miss or any other of its sort.

    Args:
        fact: The true fact; neither its value, nor the older one, nor the subject itself is returned.
        cluster: Where it holds.
        draws: Random choices.
    """
    avoided = _avoided(fact, cluster)
    name = fact.attribute.name
    others = [f.value for f in cluster.facts.values() if f.attribute.name == name and f.value not in avoided]
    if others and (fact.kind is Kind.NAME or draws.chance(0.5)):
        return draws.choice(others)
    if isinstance(fact.value, Entity):
        kind = fact.value.type
        return draws.choice([e for e in cluster.entities if e.type == kind and e not in avoided])
    if fact.kind is Kind.WORD:
        return draws.choice([word for word in fact.attribute.words if word not in avoided])
    while (value := near_miss(fact, draws)) in avoided:
        continue
    return value


def near_miss(fact: Fact, draws: Draws) -> Value:
    """The fact's number or date, slightly wrong: one digit (not the first), a few years, another month.

    The first digit stays because, unlike the others, it is not uniform: changed, it would give the number away.
    """
    if isinstance(fact.value, date):
        if draws.chance(0.5):
            return fact.value.replace(year=fact.value.year + _years(draws))
        return fact.value.replace(month=(fact.value.month - 1 + draws.between(1, 11)) % 12 + 1)
    value = fact.number
    if fact.kind is Kind.YEAR:
        return value + _years(draws)
    if value < 10:
        return draws.choice([n for n in range(2, 10) if n != value])
    digits = list(str(value))
    place = draws.between(1, len(digits) - 1)
    digits[place] = draws.choice([d for d in "0123456789" if d != digits[place]])
    return int("".join(digits))


def _avoided(fact: Fact, cluster: Cluster) -> list[Value]:
    known = [table[fact.key].value for table in (cluster.past, cluster.facts) if fact.key in table]
    return [fact.value, fact.subject, *known]


def _years(draws: Draws) -> int:
    return draws.between(1, 9) * (1 if draws.chance(0.5) else -1)

"""Values as text: the canonical form used in passages and answers, and the other forms that mean the same."""

from __future__ import annotations

from datetime import date

from faithline.world.facts import Entity, Fact, Value
from faithline.world.schema import Attribute, Kind, listed

__all__ = ["MONTHS", "aliases", "alternative", "answer_text", "in_prose", "number_aliases"]

MONTHS = listed("January, February, March, April, May, June, July, August, September, October, November, December")


def in_prose(value: Value, kind: Kind) -> str:
    """The value as it stands in a sentence: 12,345 · 1987 · 3 May 1921 · the Orl River · glass."""
    if isinstance(value, Entity):
        return value.mention
    if isinstance(value, date):
        return f"{value.day} {MONTHS[value.month - 1]} {value.year}"
    if isinstance(value, int) and kind is Kind.NUMBER:
        return f"{value:,}"
    return str(value)


def answer_text(value: Value, kind: Kind) -> str:
    """The value as a gold answer: as in prose, but names without their article."""
    return value.name if isinstance(value, Entity) else in_prose(value, kind)


def alternative(value: Value, kind: Kind) -> str:
    """Another way of writing the value in a sentence, for paraphrases: 12345 · May 3, 1921; else as in prose."""
    if isinstance(value, date):
        return f"{MONTHS[value.month - 1]} {value.day}, {value.year}"
    if isinstance(value, int) and kind is Kind.NUMBER:
        return str(value)
    return in_prose(value, kind)


def aliases(fact: Fact) -> list[str]:
    """Further gold answers for a fact's value, without the canonical one."""
    return _aliases(fact.value, fact.attribute)


def number_aliases(number: int, unit: str) -> list[str]:
    """Other ways of writing a number, with and without its unit, without the canonical one."""
    grouped, plain = f"{number:,}", str(number)
    forms = [plain] if plain != grouped else []
    if unit and number != 1:
        forms += [f"{form} {unit}" for form in (grouped, *forms)]
    return forms


def _aliases(value: Value, attribute: Attribute) -> list[str]:
    if isinstance(value, Entity):
        return [value.mention] if value.article else []
    if isinstance(value, date):
        return [alternative(value, attribute.kind), value.isoformat()]
    if isinstance(value, int) and attribute.kind is Kind.NUMBER:
        return number_aliases(value, attribute.unit)
    return []

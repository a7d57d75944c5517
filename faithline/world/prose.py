"""From facts to sentences and passages.

A passage names its subject in the first sentence; later sentences use the name, the noun or a pronoun. A pronoun is
used only where it cannot be taken for somebody else: never in object position, never after a sentence that ends in
another entity of the same pronoun. Two statements with the subject in front may be joined into one sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from faithline.world.draws import Draws
from faithline.world.facts import Entity, Fact, Value
from faithline.world.genres import Genre
from faithline.world.passages import Passage, Role, Sentence
from faithline.world.schema import Kind
from faithline.world.values import in_prose
from faithline.world.vocabulary import TYPES

__all__ = ["Reference", "ValueText", "capitalised", "named", "opening", "say", "write_passage"]

ValueText = Callable[[Value, Kind], str]
"""How values are written: `values.in_prose` or `values.alternative`."""

_JOINED = 0.35
"""Share of neighbouring statements that are joined into one sentence."""
_BY_NAME = 0.25
"""Share of statements that name the subject though they need not."""
_POSSESSIVES = {"it": "its", "she": "her", "he": "his"}


class Reference(NamedTuple):
    """A way of referring to the subject."""

    subject: str
    possessive: str
    object: str


def capitalised(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def named(entity: Entity) -> Reference:
    """Refer by name."""
    mention = entity.mention
    return Reference(mention, mention + "'s", mention)


def say(template: str, fact: Fact, reference: Reference, text: ValueText = in_prose) -> str:
    """Fill a statement template; no capital, no full stop."""
    return template.format(
        S=reference.subject,
        P=reference.possessive,
        O=reference.object,
        v=text(fact.value, fact.attribute.kind),
        y=fact.year,
    )


def opening(template: str, subject: Entity, region: str) -> str:
    """Fill a first sentence."""
    mention = subject.mention
    noun = subject.noun
    return capitalised(
        template.format(
            name=subject.name,
            N=mention,
            n=mention,
            a_noun=f"an {noun}" if noun[0] in "aeiou" else f"a {noun}",
            region=region,
        )
    )


def write_passage(
    subject: Entity,
    facts: Sequence[Fact],
    genre: Genre,
    role: Role,
    *,
    region: str,
    draws: Draws,
    text: ValueText = in_prose,
) -> Passage:
    """Write a passage that states exactly these facts, in random order."""
    leads = genre.leads or TYPES[subject.type].leads
    sentences = [Sentence(opening(draws.choice(leads), subject, region), ())]
    ordered = draws.shuffled(facts)
    if genre.as_list:
        sentences += [_entry(fact, text) for fact in ordered]
    else:
        sentences += _statements(subject, ordered, draws, text)
    closing = draws.choice(genre.closings)
    if closing:
        sentences.append(Sentence(closing, ()))
    return Passage(
        title=opening(genre.title, subject, region),
        sentences=tuple(sentences),
        subject=subject,
        genre=genre.name,
        role=role,
    )


def _entry(fact: Fact, text: ValueText) -> Sentence:
    label = fact.attribute.label.format(y=fact.year)
    return Sentence(f"{label}: {text(fact.value, fact.attribute.kind)}.", (fact,))


def _statements(subject: Entity, facts: list[Fact], draws: Draws, text: ValueText) -> list[Sentence]:
    sentences: list[Sentence] = []
    references = _References.to(subject)
    ambiguous = False
    place = 0
    while place < len(facts):
        fact = facts[place]
        template = draws.choice(fact.attribute.says if fact.current else fact.attribute.past)
        body = say(template, fact, references.draw(draws, nameless_fits=not ambiguous and "{O}" not in template), text)
        stated: tuple[Fact, ...] = (fact,)
        place += 1
        if place < len(facts) and template.startswith("{S} ") and draws.chance(_JOINED):
            joined = _second_half(template, facts[place], draws, text)
            if joined:
                body += (", and " if "," in body or " and " in body else " and ") + joined
                stated = (fact, facts[place])
                place += 1
        sentences.append(Sentence(capitalised(body) + ".", stated))
        last = stated[-1].value
        ambiguous = isinstance(last, Entity) and last.pronoun == subject.pronoun
    return sentences


def _second_half(first: str, fact: Fact, draws: Draws, text: ValueText) -> str:
    """The predicate of a statement about the same subject; "" if the drawn wording does not lend itself to it.

    It must start with the subject, and not with the verb of the first half ("was born on 3 May and was born in Orl").
    """
    template = draws.choice(fact.attribute.says if fact.current else fact.attribute.past)
    if not template.startswith("{S} ") or template.split()[1:3] == first.split()[1:3]:
        return ""
    return say(template[4:], fact, named(fact.subject), text)


class _References(NamedTuple):
    """The ways of referring to one subject; a person has no noun."""

    name: Reference
    noun: Reference
    pronoun: Reference

    @classmethod
    def to(cls, subject: Entity) -> _References:
        name = named(subject)
        if subject.pronoun != "it":
            return cls(name, name, Reference(subject.pronoun, _POSSESSIVES[subject.pronoun], name.object))
        noun = f"the {subject.noun}"
        return cls(name, Reference(noun, noun + "'s", noun), Reference("it", "its", noun))

    def draw(self, draws: Draws, *, nameless_fits: bool) -> Reference:
        """One of the ways; a pronoun only where `nameless_fits`, a noun for things anywhere."""
        if draws.chance(_BY_NAME):
            return self.name
        if not nameless_fits or (self.noun is not self.name and draws.chance(0.5)):
            return self.noun
        return self.pronoun

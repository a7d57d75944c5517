"""Numeric grounding: the truth about a response, worked out by hand, and what every item keeps to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faithline.agents.march.numbers import find_numbers
from faithline.world.facts import Entity, Fact
from faithline.world.grounding import Audit, Grounding, groundings
from faithline.world.passages import Passage, Role, Sentence
from faithline.world.vocabulary import ATTRIBUTES


def town(key: int, name: str) -> Entity:
    return Entity(key=key, type="town", name=name, pronoun="it", noun="town")


ORL, VESK = town(0, "Orl"), town(1, "Vesk")
PEOPLE = Fact(subject=ORL, attribute=ATTRIBUTES["population"], value=1234, year=2019)
FOUNDED = Fact(subject=ORL, attribute=ATTRIBUTES["town_charter"], value=1501)
HEIGHT = Fact(subject=VESK, attribute=ATTRIBUTES["elevation"], value=77)
OTHERS = Fact(subject=VESK, attribute=ATTRIBUTES["population"], value=5678, year=2020)


def passage(subject: Entity, *facts: Fact) -> Passage:
    sentences = tuple(Sentence(f"{fact.value}.", (fact,)) for fact in facts)
    return Passage(title="", sentences=sentences, subject=subject, genre="figures", role=Role.MAIN)


ITEM = Grounding(
    "x", "?", (passage(ORL, PEOPLE, FOUNDED), passage(VESK, HEIGHT, OTHERS)), (PEOPLE, FOUNDED, HEIGHT)
)  # fmt: skip


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("Orl has 1,234 inhabitants. Orl was founded in 1501. Vesk lies 77 metres above sea level.", (3, 0, 3)),
        ("Orl has 1234 inhabitants.", (1, 0, 1)),
        # The other town's number, a number of nowhere, the right number of another attribute.
        ("Orl has 5,678 inhabitants.", (1, 1, 0)),
        ("Orl has 1,235 inhabitants.", (1, 1, 0)),
        ("Orl has 1501 inhabitants.", (1, 1, 0)),
        # The year of the record is borne out, but is no answer.
        ("Orl had 1,234 inhabitants in 2019.", (2, 0, 1)),
        ("Orl has 2019 inhabitants.", (1, 0, 0)),
        # The subject stays until another one is named.
        ("Orl is old. It was founded in 1501.", (1, 0, 1)),
        ("Vesk is high. It was founded in 1501.", (1, 1, 0)),
        # No subject, no attribute: nothing bears the number out.
        ("It has 1,234 inhabitants.", (1, 1, 0)),
        ("Orl 1501.", (1, 1, 0)),
        ("Orl has many inhabitants.", (0, 0, 0)),
        ("", (0, 0, 0)),
    ],
)
def test_audit_by_hand(response: str, expected: tuple[int, int, int]) -> None:
    assert ITEM.audit(response) == Audit(*expected)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 50), first=st.integers(0, 200))
def test_what_every_item_keeps_to(seed: int, first: int) -> None:
    (item,) = groundings(seed, first, 1)
    assert 1 <= len(item.asked) <= 3
    assert item.audit(item.response) == Audit(len(item.asked), 0, len(item.asked))
    texts = [passage.text for passage in item.passages]
    assert len(texts) == 2
    stated = {number.value for text in texts for number in find_numbers(text)}
    for fact, (question, answer), claim in zip(item.asked, item.pairs, item.claims, strict=True):
        assert fact.subject.name in claim
        assert fact.subject.name in question
        assert {number.value for number in find_numbers(claim)} == {int(answer)} <= stated
        assert question.rstrip("?").lower() in item.query.lower()


def test_wrong_values_are_caught() -> None:
    """Each asked number replaced by the number of its rival or by itself plus one."""
    for item in groundings(3, 0, 200):
        fact = item.asked[0]
        rivals = [
            other
            for passage in item.passages
            for other in passage.facts
            if other.attribute.name == fact.attribute.name and other.subject.key != fact.subject.key
        ]
        response = item.response.split(". ")[0]
        for wrong in [int(fact.value) + 1, *(int(rival.value) for rival in rivals)]:  # type: ignore[arg-type]
            shown = f"{wrong:,}" if fact.kind == "number" else str(wrong)
            own = f"{fact.value:,}" if fact.kind == "number" else str(fact.value)
            if wrong not in (fact.value, fact.year):
                assert item.audit(response.replace(own, shown)).wrong == 1, response


def test_an_item_does_not_depend_on_the_others() -> None:
    whole = list(groundings(4, 0, 40))
    assert list(groundings(4, 37, 3)) == whole[37:]
    clusters: dict[str, set[Any]] = {}
    for item in whole:
        clusters.setdefault(item.id.split("_")[1], set()).update(passage.subject.name for passage in item.passages)
    assert len(clusters) == 3
    names = list(clusters.values())
    assert not names[0] & names[1]
    assert not names[1] & names[2]

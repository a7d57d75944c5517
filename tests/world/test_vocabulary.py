"""Every template can be filled, in every form the package asks for."""

from __future__ import annotations

import string

import pytest

from faithline.world.schema import Attribute, Kind
from faithline.world.vocabulary import ATTRIBUTES, ATTRIBUTES_OF, TYPES

ALL = list(ATTRIBUTES.values())


def slots(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}


@pytest.mark.parametrize("attribute", ALL, ids=lambda a: a.name)
def test_statements(attribute: Attribute) -> None:
    dated = {"y"} if attribute.varies else set()
    for template in (*attribute.says, *attribute.past):
        assert {"v"} | dated <= slots(template) <= {"S", "P", "O", "v"} | dated, template
        assert len(slots(template) & {"S", "P", "O"}) == 1, template
        assert not template.endswith(".")
        assert template[0] == "{" or template[0].islower(), template
    assert slots(attribute.label) == dated
    assert len(attribute.says) >= 3
    assert attribute.label[0].isupper()


@pytest.mark.parametrize("attribute", ALL, ids=lambda a: a.name)
def test_claims_and_denials(attribute: Attribute) -> None:
    assert len(attribute.claims) >= 2
    for claim, denial in attribute.claims:
        assert slots(claim) == slots(denial)
        assert "v" in slots(claim)
        assert "y" not in slots(claim), "a claim is about now"
        assert " not " in denial
        assert " not " not in claim


@pytest.mark.parametrize("attribute", ALL, ids=lambda a: a.name)
def test_questions(attribute: Attribute) -> None:
    assert len(attribute.asks) >= 2
    assert all(slots(ask) == {"s"} and ask.endswith("?") for ask in attribute.asks)
    assert any(ask.endswith("{s}?") for ask in attribute.asks), "long subjects need a question that ends in them"
    assert bool(attribute.past) == bool(attribute.asks_past)
    assert all(slots(ask) == {"s", "y"} for ask in attribute.asks_past)
    assert not attribute.same or slots(attribute.same) == {"a", "b"}
    if attribute.contrast:
        pairs = (attribute.contrast.check, attribute.contrast.gap, attribute.contrast.total)
        assert all(slots(question) == {"a", "b"} for question in pairs if question)


@pytest.mark.parametrize("attribute", ALL, ids=lambda a: a.name)
def test_kinds(attribute: Attribute) -> None:
    assert attribute.subject in TYPES
    assert (attribute.kind is Kind.NAME) == bool(attribute.target) == bool(attribute.role)
    assert (attribute.kind is Kind.WORD) == bool(attribute.words)
    assert bool(attribute.contrast) == (attribute.kind in (Kind.NUMBER, Kind.YEAR, Kind.DATE))
    if attribute.target:
        assert attribute.target in TYPES
        assert attribute.noun
        assert all(slots(noun) == {"s"} for noun in attribute.noun)
    assert len(set(attribute.words)) == len(attribute.words)


def test_wordings_of_a_type_do_not_collide() -> None:
    """A statement, question or description means one attribute of its subject."""
    for attributes in ATTRIBUTES_OF.values():
        for field in ("says", "asks", "noun"):
            wordings = [wording for attribute in attributes for wording in getattr(attribute, field)]
            assert len(set(wordings)) == len(wordings)


def test_leads_name_the_subject() -> None:
    for kind in TYPES.values():
        assert all(slots(lead) & {"N", "n"} and slots(lead) <= {"N", "n", "a_noun", "region"} for lead in kind.leads)

"""Claims and their verdicts, checked against the fact table and against the prose by other means."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

import pytest

from faithline.world.claims import Change, JudgedPair, Relation, claim_of, comparative_claim, false_value, judged_pair
from faithline.world.draws import Draws
from faithline.world.facts import Fact
from faithline.world.library import Library
from faithline.world.schema import Kind
from faithline.world.values import in_prose

PAIRS = 150


@pytest.fixture(scope="module")
def pairs(libraries: list[Library]) -> list[tuple[Library, JudgedPair]]:
    made = []
    for library in libraries:
        draws = Draws(library.cluster.number, "claims")
        made += [(library, judged_pair(library, draws, relation)) for relation in Relation for _ in range(PAIRS // 3)]
    return made


def test_all_kinds_of_change_occur(pairs: list[tuple[Library, JudgedPair]]) -> None:
    seen = defaultdict(set)
    for _, pair in pairs:
        seen[pair.relation].add(pair.claim.change)
    assert seen[Relation.ENTAILED] == {Change.RESTATED, Change.NEGATION, Change.COMBINED}
    assert seen[Relation.NEUTRAL] == {Change.ADDED, Change.COMBINED}
    assert seen[Relation.CONTRADICTED] == set(Change) - {Change.RESTATED, Change.ADDED}


def test_truth_follows_the_fact_table(pairs: list[tuple[Library, JudgedPair]]) -> None:
    for library, pair in pairs:
        claim, facts = pair.claim, library.cluster.facts
        if claim.than:
            expected = facts[claim.fact.key].value > facts[claim.than.key].value  # type: ignore[operator]
        else:
            expected = (facts[claim.fact.key].value == claim.fact.value) is not claim.denied
        assert claim.truth == expected, claim.text


def test_verdicts_follow_from_the_prose(pairs: list[tuple[Library, JudgedPair]]) -> None:
    """Entailed or contradicted claims have the true value in the passages' words; neutral ones do not state it."""
    for library, pair in pairs:
        prose = " ".join(passage.text for passage in pair.passages)
        sides = [library.cluster.facts[fact.key] for fact in (pair.claim.fact, pair.claim.than) if fact]
        found = [
            re.search(rf"(?<!\w){re.escape(in_prose(s.value, s.kind))}(?!\w)", prose, re.IGNORECASE) is not None
            for s in sides
        ]
        if pair.relation is Relation.NEUTRAL:
            stated = [any(f.key == side.key for p in pair.passages for f in p.facts) for side in sides]
            assert not all(stated)
        else:
            assert all(found), pair.claim.text
            assert pair.claim.truth == (pair.relation is Relation.ENTAILED)


def test_claims_name_their_subject_and_value(pairs: list[tuple[Library, JudgedPair]]) -> None:
    for _, pair in pairs:
        text = pair.claim.text
        assert pair.claim.fact.subject.name in text
        assert text[0].isupper() or text[0].isdigit()
        assert text.endswith(".")
        assert ".." not in text
        if pair.claim.than:
            assert pair.claim.than.subject.name in text
        else:
            assert in_prose(pair.claim.fact.value, pair.claim.fact.kind).lower() in text.lower()
            assert (" not " in text) == pair.claim.denied


def test_the_claim_alone_says_little_about_the_verdict(pairs: list[tuple[Library, JudgedPair]]) -> None:
    """Denials occur under every verdict, so negation is no giveaway."""
    denied = Counter(pair.relation for _, pair in pairs if pair.claim.denied)
    assert all(0.12 < denied[relation] / (len(pairs) / 3) < 0.45 for relation in Relation)


def test_comparisons_in_both_directions(libraries: list[Library]) -> None:
    facts = [f for f in libraries[0].cluster.facts.values() if f.attribute.name == "population"]
    small, large = sorted(facts[:2], key=lambda fact: fact.number)
    verdicts = {
        (left is small, more): comparative_claim(left, right, more=more).truth
        for left, right in ((small, large), (large, small))
        for more in (True, False)
    }
    assert verdicts == {(True, True): False, (True, False): True, (False, True): True, (False, False): False}
    text = comparative_claim(large, small, more=True).text
    assert text == f"{large.subject.name} has more inhabitants than {small.subject.name}."
    mayor = libraries[0].cluster.facts[small.subject.key, "mayor"]
    with pytest.raises(ValueError, match="cannot be compared"):
        comparative_claim(small, mayor, more=True)


def test_near_misses_are_near(libraries: list[Library]) -> None:
    draws = Draws(8)
    for library in libraries[:4]:
        for fact in library.stated.values():
            if fact.kind not in (Kind.NUMBER, Kind.YEAR, Kind.DATE):
                continue
            wrong = false_value(fact, library.cluster, draws, close=True)
            assert wrong != fact.value
            text, right = in_prose(wrong, fact.kind), in_prose(fact.value, fact.kind)
            if fact.kind is Kind.NUMBER and fact.number >= 10:
                assert len(text) == len(right)
                assert text[0] == right[0]
                assert sum(a != b for a, b in zip(text, right, strict=True)) == 1
            if fact.kind is Kind.YEAR:
                assert isinstance(wrong, int)
                assert 1 <= abs(wrong - fact.number) <= 9


def test_claims_have_templates_to_hold_out(libraries: list[Library]) -> None:
    draws = Draws(9)

    def fact(library: Library) -> Fact:
        return next(f for f in library.stated.values() if f.attribute.name == "born")

    names = {
        claim_of(fact(library), library.cluster, draws, denied=d).template
        for library in libraries[:12]
        for d in (True, False)
    }
    assert names == {"born.claim0", "born.claim1", "born.denial0", "born.denial1"}

"""Prose says what the facts say: values are read back out of sentences by a reader that knows only the templates."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from faithline.world.draws import Draws
from faithline.world.facts import Fact
from faithline.world.library import Library
from faithline.world.noise import conflicting, near_duplicate, outdated
from faithline.world.passages import Passage, Role, Sentence
from faithline.world.values import alternative, in_prose


def read_back(sentence: Sentence, fact: Fact) -> set[str]:
    """Values that some wording of the fact's attribute yields for this sentence."""
    found = set()
    body = sentence.text.removesuffix(".")
    label = fact.attribute.label.replace("{y}", str(fact.year))
    if body.startswith(label + ": "):
        found.add(body.removeprefix(label + ": "))
    for template in fact.attribute.says if fact.current else fact.attribute.past:
        pattern = re.escape(template).replace(r"\{v\}", "(.+)").replace(r"\{y\}", str(fact.year))
        pattern = re.sub(r"\\\{[SPO]\\\}", ".+?", pattern)
        match = re.fullmatch(pattern, body, re.IGNORECASE)
        if match:
            found.add(match[1])
    return found


def extra(library: Library, count: int) -> Iterator[Passage]:
    draws = Draws(library.cluster.number, "extra")
    for _ in range(count):
        fact = draws.choice(list(library.stated.values()))
        yield near_duplicate(library.main(fact.subject), library, draws)
        yield conflicting(fact, library, draws)
        yield outdated(draws.choice(list(library.cluster.past.values())), library, draws)


@pytest.fixture(scope="module")
def passages(libraries: list[Library]) -> list[Passage]:
    regions = libraries[:12]
    return [p for library in libraries for p in library.passages.values()] + [
        p for region in regions for p in extra(region, 25)
    ]


def test_values_can_be_read_back(passages: list[Passage]) -> None:
    read = 0
    for passage in passages:
        for sentence in passage.sentences:
            if len(sentence.facts) == 1:
                fact = sentence.facts[0]
                text = alternative if passage.role is Role.NEAR_DUPLICATE else in_prose
                expected = text(fact.value, fact.kind).lower()
                assert expected in {value.lower() for value in read_back(sentence, fact)}, sentence
                read += 1
    assert read > 2000


def test_joined_sentences_hold_both_values(passages: list[Passage]) -> None:
    joined = [(p, s) for p in passages for s in p.sentences if len(s.facts) == 2]
    assert len(joined) > 100
    for passage, sentence in joined:
        text = alternative if passage.role is Role.NEAR_DUPLICATE else in_prose
        for fact in sentence.facts:
            assert text(fact.value, fact.kind).lower() in sentence.text.lower()


def test_sentences_are_well_formed(passages: list[Passage]) -> None:
    for passage in passages:
        assert "{" not in passage.text + passage.title
        assert "  " not in passage.text
        assert passage.title == passage.title.strip() != ""
        for sentence in passage.sentences:
            assert re.match(r"[A-Z0-9]", sentence.text), sentence
            assert sentence.text.endswith(".")
            assert ".." not in sentence.text
            assert not re.search(r"\b(\w+) \1\b", sentence.text.lower()), sentence.text


def test_passages_are_short_and_name_their_subject_first(passages: list[Passage]) -> None:
    lengths = [len(passage.text.split()) for passage in passages]
    assert min(lengths) >= 15
    assert max(lengths) <= 85
    assert sum(28 <= length <= 70 for length in lengths) / len(lengths) > 0.8
    for passage in passages:
        assert passage.subject.name in passage.sentences[0].text
        assert passage.subject.name in passage.title


def test_prose_varies(libraries: list[Library]) -> None:
    """Masked of names and values, the main passages of one region still use many sentences."""
    shapes = set()
    for passage in libraries[0].passages.values():
        for sentence in passage.sentences:
            shape = sentence.text.replace(passage.subject.name, "X")
            for fact in sentence.facts:
                shape = shape.replace(in_prose(fact.value, fact.kind), "V")
            shapes.add(re.sub(r"\d{4}", "Y", shape))
    assert len(shapes) > 120
    assert len({passage.genre for passage in libraries[0].passages.values()}) == 5


def test_near_duplicates_say_the_same_in_other_words(libraries: list[Library]) -> None:
    draws = Draws(3)
    for library in libraries[:3]:
        for passage in library.passages.values():
            twin = near_duplicate(passage, library, draws)
            assert {fact.key for fact in twin.facts} == {fact.key for fact in passage.facts}
            assert twin.title != passage.title
            assert twin.genre != passage.genre
            assert all(twin.states(fact) for fact in passage.facts)


def test_outdated_passages_are_dated_and_state_no_current_fact(libraries: list[Library]) -> None:
    draws = Draws(4)
    for library in libraries[:3]:
        for key, past in library.cluster.past.items():
            passage = outdated(library.cluster.facts[key], library, draws)
            assert str(past.year) in passage.text
            assert in_prose(past.value, past.kind) in passage.text
            assert in_prose(library.cluster.facts[key].value, past.kind) not in passage.text
            assert not any(fact.current for fact in passage.facts)


def test_conflicting_passages_withdraw_a_wrong_value(libraries: list[Library]) -> None:
    draws = Draws(5)
    for library in libraries:
        for fact in library.stated.values():
            passage = conflicting(fact, library, draws)
            assert passage.facts == []
            assert re.search(r"wrong|false", passage.text)
            assert not re.search(rf"(?<!\w){re.escape(in_prose(fact.value, fact.kind))}(?!\w)", passage.text), (
                passage.text
            )


def test_older_values_are_never_offered_as_wrong_ones(libraries: list[Library]) -> None:
    """Else an outdated and a withdrawn passage could agree on the older value."""
    draws = Draws(6)
    for library in libraries[:4]:
        for key, past in library.cluster.past.items():
            passage = conflicting(library.cluster.facts[key], library, draws)
            assert in_prose(past.value, past.kind) not in passage.text.replace(past.subject.name, "")

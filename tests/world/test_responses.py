"""Labelled responses: offsets are exact, labels are complete, and nothing that is supported is labelled."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from faithline.pipeline.errors import ConfigError
from faithline.world.responses import Response, Source, sources
from faithline.world.settings import ModelSettings, ResponseSettings, ResponseTasks, check_responses
from faithline.world.spans import Draft, LabelType
from faithline.world.world import World


def settings_of(count: int, **changes: Any) -> ResponseSettings:
    settings = ResponseSettings(
        sources=count,
        tasks=ResponseTasks(qa=0.4, summary=0.3, data2txt=0.3),
        models=[ModelSettings(name="a", fault_rate=0.0), ModelSettings(name="b", fault_rate=0.4)],
        subtle=0.4,
        baseless=0.5,
        test=0.3,
        truncated=0.05,
        refused=0.05,
    )
    return msgspec.structs.replace(settings, **changes)


@pytest.fixture(scope="module")
def made(world: World) -> list[Source]:
    return list(sources(world, settings_of(300)))


def each(made: list[Source]) -> Iterator[tuple[Source, Response]]:
    return ((source, response) for source in made for response in source.responses)


def test_offsets_are_exact_ordered_and_apart(made: list[Source]) -> None:
    for _, response in each(made):
        end = 0
        for span in response.spans:
            assert response.text[span.start : span.end] == span.text != ""
            assert span.text == span.text.strip()
            assert end <= span.start < span.end <= len(response.text)
            end = span.end


def unlabelled(response: Response) -> str:
    text = response.text
    for span in reversed(response.spans):
        text = text[: span.start] + " " + text[span.end :]
    return text


# Words that open a sentence of a response without being a name.
OPENERS = {
    "Unable",
    "Based",
    "According",
    "Surveyors",
    "Until",
    "Since",
    "Every",
    "Settlers",
    "Nobody",
    "People",
    "Visitors",
}


def marks(text: str) -> set[str]:
    """What can be wrong in a response: invented names, months, and numbers without their grouping."""
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    plain = re.sub(r"(\d+):00\b", r"\1", plain)
    return {m.removesuffix(".0") for m in re.findall(r"\d+(?:\.\d+)?|\b[A-Z][a-z]{4,}\b", plain)} - OPENERS


def test_what_is_not_labelled_is_in_the_source(made: list[Source]) -> None:
    for source, response in each(made):
        told = marks(source.told())
        told |= {word.capitalize() for word in re.findall(r"[a-z]+", source.told())}  # a value may open a sentence
        assert marks(unlabelled(response)) - told == set(), (response.text, source.told())


def test_conflicts_replace_a_value_of_the_source(made: list[Source]) -> None:
    seen = 0
    for source, response in each(made):
        for span in response.spans:
            if span.label_type in (LabelType.EVIDENT_CONFLICT, LabelType.SUBTLE_CONFLICT) and not source.business:
                original = re.search(r"\nOriginal: (.+)\n", span.meta)
                assert original
                assert original[1] != span.text
                assert re.search(
                    rf"(?<!\w){re.escape(original[1].removeprefix('the '))}(?!\w)", source.told(), re.IGNORECASE
                )
                seen += 1
    assert seen > 80


def test_baseless_sentences_are_nowhere_in_the_source(made: list[Source]) -> None:
    implicit = Counter()
    for source, response in each(made):
        for span in response.spans:
            if "Baseless" in span.label_type.value:
                assert span.text not in source.told()
                assert not (span.implicit_true and span.due_to_null)
                implicit[span.implicit_true] += 1
            else:
                assert not span.implicit_true
                assert not span.due_to_null
    assert implicit[True] > 10
    assert implicit[False] > 10


def test_nulls_are_read_only_where_the_record_has_one(made: list[Source]) -> None:
    seen = 0
    for source, response in each(made):
        for span in response.spans:
            if span.due_to_null:
                assert source.business
                attributes = source.business.record["attributes"]
                assert isinstance(attributes, dict)
                field = re.search(r"attributes\.(\w+)", span.meta)
                assert field
                assert attributes[field[1]] is None
                seen += 1
    assert seen > 5


def test_everything_occurs(made: list[Source]) -> None:
    assert {source.task for source in made} == {"QA", "Summary", "Data2txt"}
    assert {source.split for source in made} == {"train", "test"}
    assert {response.quality for _, response in each(made)} == {"good", "truncated", "incorrect_refusal"}
    labels = Counter(span.label_type for _, response in each(made) for span in response.spans)
    assert set(labels) == set(LabelType)


def test_rates_are_the_models(made: list[Source]) -> None:
    clean = [response.spans == [] for _, response in each(made) if response.model == "a"]
    assert all(clean)
    faulty = [response.spans != [] for _, response in each(made) if response.model == "b"]
    assert 0.6 < sum(faulty) / len(faulty) < 0.98


def test_sources_do_not_depend_on_their_number(make_world: Callable[..., World]) -> None:
    few = [(s.index, s.split, s.told(), s.responses) for s in sources(make_world(5), settings_of(13))]
    many = [(s.index, s.split, s.told(), s.responses) for s in sources(make_world(5), settings_of(30))]
    assert many[:13] == few


def test_another_model_leaves_the_others_alone(make_world: Callable[..., World]) -> None:
    two = settings_of(10)
    three = settings_of(10, models=[*two.models, ModelSettings(name="c", fault_rate=0.9)])
    pairs = zip(sources(make_world(), two), sources(make_world(), three), strict=True)
    assert all(more.responses[:2] == less.responses for less, more in pairs)


def test_cutting_a_draft() -> None:
    def draft() -> Draft:
        made = Draft()
        made.add("One two ")
        made.add_wrong("three four", LabelType.EVIDENT_CONFLICT, "five")
        made.add(" six.")
        return made

    whole, inside, before = draft(), draft(), draft()
    whole.cut(18)
    inside.cut(13)
    before.cut(5)
    assert (whole.text, len(whole.spans)) == ("One two three four", 1)
    assert (inside.text, inside.spans) == ("One two", [])
    assert (before.text, before.spans) == ("One t", [])


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"sources": -1}, "sources"),
        ({"subtle": 1.2}, "subtle"),
        ({"baseless": -0.2}, "baseless"),
        ({"truncated": 0.6, "refused": 0.6}, "truncated + refused"),
        ({"models": []}, "models"),
        ({"models": [ModelSettings(name="a", fault_rate=0.1)] * 2}, "models"),
        ({"models": [ModelSettings(name="a", fault_rate=1.1)]}, "models.a.fault_rate"),
        ({"tasks": ResponseTasks(qa=0.5, summary=0.5, data2txt=0.5)}, "tasks"),
    ],
)
def test_nonsense_is_refused(changes: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_responses(settings_of(1, **changes), "r")
    assert caught.value.where == f"r.{key}"

"""Questions mean what their answers answer.

The reader below knows the wordings and the fact table, nothing else: it parses a question's *text* back into every
meaning it can have and computes the answers itself. A question passes if all its meanings give the one gold answer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date
from functools import cache, lru_cache, partial

import pytest

from faithline.world.comparisons import ask_bridge_comparison, ask_comparison, ask_gap, ask_interval
from faithline.world.draws import Draws
from faithline.world.facts import Cluster, Entity, Fact
from faithline.world.items import Item
from faithline.world.library import Library
from faithline.world.queries import evaluate
from faithline.world.questions import (
    INFERRED,
    Question,
    ask_chain,
    ask_inference,
    ask_past,
    ask_single,
    ask_unanswerable,
)
from faithline.world.schema import Kind
from faithline.world.vocabulary import ATTRIBUTES, TYPES
from faithline.world.world import Stream, World

Asker = Callable[[Library, Draws], Question | None]
ASKERS: dict[str, Asker] = {
    "single": ask_single,
    "two hops": partial(ask_chain, hops=2),
    "three hops": partial(ask_chain, hops=3),
    "inference": ask_inference,
    "past": ask_past,
    "comparison": ask_comparison,
    "bridge comparison": ask_bridge_comparison,
    "gap": ask_gap,
    "interval": ask_interval,
    "unanswerable": partial(ask_unanswerable, hops=2),
}
DERIVED = {"gap", "interval"}


@cache
def pattern(template: str) -> re.Pattern[str]:
    text = re.escape(template)
    for name in "sab":
        text = text.replace(rf"\{{{name}\}}", f"(?P<{name}>.+)")
    return re.compile(text.replace(r"\{y\}", r"(?P<y>\d{4})"), re.IGNORECASE)


class Reader:
    """Parses questions about one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.by_name = {e.name.lower(): e for e in cluster.entities}
        self.by_name |= {("the " + e.name).lower(): e for e in cluster.entities if e.article}

    @lru_cache(maxsize=100_000)  # noqa: B019 - one reader a cluster, both short-lived
    def entities(self, phrase: str) -> frozenset[Entity]:
        """All entities a phrase can stand for."""
        if phrase.lower() in self.by_name:
            return frozenset([self.by_name[phrase.lower()]])
        found = set()
        for attribute in ATTRIBUTES.values():
            if attribute.kind is Kind.NAME:
                for noun in attribute.noun:
                    match = pattern(noun).fullmatch(phrase)
                    found |= (
                        {f.value for s in self.entities(match["s"]) if (f := self.fact(s, attribute.name))}
                        if match
                        else set()
                    )
        return frozenset(e for e in found if isinstance(e, Entity))

    def fact(self, subject: Entity, name: str) -> Fact | None:
        return self.cluster.facts.get((subject.key, name))

    def answers(self, question: str) -> set[str]:
        """All answers a question can have."""
        found = set()
        for attribute in ATTRIBUTES.values():
            for ask in attribute.asks:
                if match := pattern(ask).fullmatch(question):
                    found |= {show(f.value) for s in self.entities(match["s"]) if (f := self.fact(s, attribute.name))}
            for ask in attribute.asks_past:
                if match := pattern(ask).fullmatch(question):
                    keys = [(s.key, attribute.name) for s in self.entities(match["s"])]
                    past = [self.cluster.past[key] for key in keys if key in self.cluster.past]
                    found |= {show(f.value) for f in past if f.year == int(match["y"])}
            found |= set(self.two_sided(attribute.name, question))
        return found | set(self.relatives(question))

    def relatives(self, question: str) -> Iterator[str]:
        for (first, second), role in INFERRED.items():
            match = re.fullmatch(rf"(?:Who|Which person|What) was the (?:name of the )?{role} of (?P<s>.+)\?", question)
            for subject in self.entities(match["s"]) if match else ():
                between = self.fact(subject, first)
                if between and isinstance(between.value, Entity) and (last := self.fact(between.value, second)):
                    yield show(last.value)

    def two_sided(self, name: str, question: str) -> Iterator[str]:
        attribute = ATTRIBUTES[name]
        for left, right in self.sides(attribute.same, name, question):
            yield "yes" if left.value == right.value else "no"
        contrast = attribute.contrast
        if contrast is None:
            return
        for left, right in self.sides(contrast.check, name, question):
            yield "yes" if left.value > right.value else "no"  # type: ignore[operator]
        for left, right in self.sides(contrast.gap, name, question):
            yield f"{abs(left.value - right.value):,}"  # type: ignore[operator]
        for left, right in self.sides(contrast.total, name, question):
            yield f"{left.value + right.value:,}"  # type: ignore[operator]
        noun, plural = TYPES[attribute.subject].noun, TYPES[attribute.subject].plural
        for phrase, pick in ((contrast.more, max), (contrast.less, min)):
            for wording in (
                f"Which {noun} {phrase}, {{a}} or {{b}}?",
                f"Who {phrase}, {{a}} or {{b}}?",
                f"Which of the two {plural} {phrase}: {{a}} or {{b}}?",
                f"Of {{a}} and {{b}}, which {noun} {phrase}?",
                f"Of {{a}} and {{b}}, who {phrase}?",
            ):
                for left, right in self.sides(wording, name, question):
                    yield pick((left, right), key=lambda fact: fact.value).subject.name  # type: ignore[arg-type,return-value]

    def sides(self, template: str, name: str, question: str) -> Iterator[tuple[Fact, Fact]]:
        match = pattern(template).fullmatch(question) if template else None
        for a in self.entities(match["a"]) if match else ():
            for b in self.entities(match["b"]) if match else ():
                left, right = self.fact(a, name), self.fact(b, name)
                if left and right:
                    yield left, right


def show(value: object) -> str:
    if isinstance(value, Entity):
        return value.name
    if isinstance(value, date):
        return f"{value.day} {value:%B} {value.year}"
    return str(value)


def strip(answer: str) -> str:
    return answer.replace(",", "")


def questions(libraries: list[Library], name: str, per_library: int = 25) -> Iterator[tuple[Library, Question]]:
    for library in libraries:
        draws = Draws(library.cluster.number, "questions", name)
        for _ in range(per_library):
            question = ASKERS[name](library, draws)
            if question is not None:
                yield library, question


@pytest.fixture(scope="module")
def regions(libraries: list[Library]) -> list[Library]:
    return libraries[:6]


@pytest.mark.parametrize("name", list(ASKERS))
def test_text_means_the_answer_and_nothing_else(regions: list[Library], name: str) -> None:
    readers = {library.cluster.number: Reader(library.cluster) for library in regions}
    asked = list(questions(regions, name))
    assert len(asked) >= 30
    for library, question in asked:
        answers = {strip(answer) for answer in readers[library.cluster.number].answers(question.text)}
        assert answers == {strip(question.answer)}, question.text


@pytest.mark.parametrize("name", list(ASKERS))
def test_formula_gives_the_answer(libraries: list[Library], name: str) -> None:
    for library, question in questions(libraries, name, 10):
        assert evaluate(question.query, library.cluster) == question.answer
        assert question.text[0].isupper()
        assert question.text.endswith("?")
        assert len(question.text.split()) <= 40


@pytest.mark.parametrize("name", list(ASKERS))
def test_plans_lead_to_the_answer(regions: list[Library], name: str) -> None:
    """Every step is answerable by itself once the earlier answers are put in; the last one gives the answer."""
    for library, question in questions(regions, name, 10):
        reader = Reader(library.cluster)
        answers: list[str] = []
        for step in question.plan:
            text = step.question
            if step.fact is None:
                assert re.search(r"#\d", text)
            else:
                for number, answer in enumerate(answers, 1):
                    text = text.replace(f"#{number}", answer)
                assert strip(step.answer) in {strip(answer) for answer in reader.answers(text)}, text
            assert all(int(number) <= len(answers) for number in re.findall(r"#(\d)", step.question))
            answers.append(step.answer)
        assert answers[-1] == question.answer


def test_yes_is_as_frequent_as_no(world: World) -> None:
    items = list(world.items(Stream.SPARE, 640, {ask_comparison: 0.5, ask_bridge_comparison: 0.5}))
    verdicts = Counter(i.question.answer for i in items if i.question.answer in ("yes", "no"))
    assert sum(verdicts.values()) > 200
    assert 0.4 < verdicts["yes"] / sum(verdicts.values()) < 0.6


def test_the_first_named_is_no_better_bet(world: World) -> None:
    items = world.items(Stream.SPARE, 640, {ask_comparison: 1.0})
    first = [
        i.question.needs[0].subject.name == i.question.answer for i in items if i.question.answer not in ("yes", "no")
    ]
    assert 0.4 < sum(first) / len(first) < 0.6


@pytest.fixture(scope="module")
def items(world: World) -> list[Item]:
    return list(world.items(Stream.SPARE, 640, dict.fromkeys(ASKERS.values(), 0.1)))


def test_gold_answers_stand_in_the_supporting_prose(items: list[Item]) -> None:
    read = 0
    for item in items:
        question = item.question
        if question.derived or not question.answerable:
            continue
        prose = " ".join(p.text for p, supports in zip(item.passages, item.supporting, strict=True) if supports)
        # The value may start a sentence, and then with a capital.
        assert re.search(rf"(?<!\w){re.escape(question.answer)}(?!\w)", prose, re.IGNORECASE), item.id
        read += 1
    assert read > 300


def test_unanswerable_facts_stand_nowhere(regions: list[Library], items: list[Item]) -> None:
    for library, question in questions(regions, "unanswerable"):
        last = question.needs[-1]
        assert not question.answerable
        assert not any(passage.states(last) for passage in library.passages.values())
        assert all(library.main(fact.subject).states(fact) for fact in question.needs[:-1])
    unanswerable = [item for item in items if not item.question.answerable]
    assert len(unanswerable) > 30
    for item in unanswerable:
        last = item.question.needs[-1]
        assert not any(fact.key == last.key for passage in item.passages for fact in passage.facts)
        assert any(passage.subject == last.subject for passage in item.passages), "the tempting passage is there"


def test_questions_of_a_cluster_differ(items: list[Item]) -> None:
    texts = Counter((item.id.rsplit("_", 1)[0].rsplit("__", 1)[1], item.question.text) for item in items)
    assert max(texts.values()) == 1


def test_templates_do_not_name_subjects(items: list[Item]) -> None:
    """Templates recur over clusters, so that some can be held out."""
    templates = Counter(item.question.template for item in items)
    assert not any(re.search(r"[A-Z]", template) for template in templates)
    assert sum(count > 1 for count in templates.values()) > 50

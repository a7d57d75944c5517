from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faithline.pipeline.errors import ConfigError
from faithline.world.comparisons import ask_bridge_comparison, ask_comparison
from faithline.world.items import Item
from faithline.world.passages import Role
from faithline.world.questions import ask_chain, ask_inference, ask_past, ask_single
from faithline.world.settings import Noise, WorldSettings, check_shares, check_world
from faithline.world.world import Asker, Stream, World

MIXED: dict[Asker, float] = {
    ask_single: 0.3,
    partial(ask_chain, hops=2): 0.3,
    ask_comparison: 0.2,
    ask_bridge_comparison: 0.2,
}


def show(item: Item) -> tuple[str, ...]:
    return (item.id, item.question.text, item.question.answer, *(p.title + "\0" + p.text for p in item.passages))


@given(seed=st.integers(0, 2**40), per_cluster=st.integers(1, 20), few=st.integers(0, 30), more=st.integers(0, 20))
@settings(max_examples=12)
def test_items_do_not_depend_on_their_number(
    make_world: Callable[..., World], seed: int, per_cluster: int, few: int, more: int
) -> None:
    def made(count: int) -> list[tuple[str, ...]]:
        world = make_world(seed, per_cluster=per_cluster)
        return [show(item) for item in world.items(Stream.HOTPOTQA, count, MIXED)]

    assert made(few) == made(few + more)[:few]


def test_streams_share_no_name(world: World) -> None:
    names = {
        stream: {e.name for index in range(3) for e in world.library(stream, index).cluster.entities}
        for stream in Stream
    }
    for one in Stream:
        for other in Stream:
            assert one == other or not names[one] & names[other]


@pytest.mark.parametrize("documents", [4, 6, 10, 24])
def test_documents_per_question(make_world: Callable[..., World], documents: int) -> None:
    for item in make_world(documents=documents).items(Stream.HOTPOTQA, 64, MIXED):
        assert len(item.passages) == documents
        assert len({passage.title for passage in item.passages}) == documents
        assert len({passage.text for passage in item.passages}) == documents


def test_supporting_means_stating_a_needed_fact(world: World) -> None:
    for item in world.items(Stream.HOTPOTQA, 160, MIXED):
        for passage, supports in zip(item.passages, item.supporting, strict=True):
            keys = {(fact.key, fact.value) for fact in passage.facts}
            assert supports == any((fact.key, fact.value) in keys for fact in item.question.needs)
            if passage.role in (Role.OUTDATED, Role.CONFLICTING):
                assert not supports
        for fact in item.question.needs:
            assert any(p.role is Role.MAIN and p.states(fact) for p in item.passages)


def test_older_values_are_asked_beside_the_current_passage(world: World) -> None:
    for item in world.items(Stream.HOTPOTQA, 80, {ask_past: 1.0}):
        supporting = [p for p, supports in zip(item.passages, item.supporting, strict=True) if supports]
        assert [passage.role for passage in supporting] == [Role.OUTDATED]
        subject = item.question.needs[0].subject
        assert any(p.subject == subject and p.role is Role.MAIN for p in item.passages)


def test_no_noise_and_full_noise(make_world: Callable[..., World]) -> None:
    quiet = list(make_world(noise=0.0, documents=8).items(Stream.HOTPOTQA, 64, MIXED))
    assert {p.role for item in quiet for p in item.passages} == {Role.MAIN}
    loud = list(make_world(noise=1.0, documents=10).items(Stream.HOTPOTQA, 64, MIXED))
    for item in loud:
        roles = Counter(p.role for p in item.passages)
        assert roles[Role.NEAR_DUPLICATE] == roles[Role.CONFLICTING] == 1
        assert roles[Role.OUTDATED] == int(any(fact.attribute.varies for fact in item.question.needs))
    assert share_of_hard_distractors(quiet) == 0.0
    assert share_of_hard_distractors(loud) > 0.6  # a few attributes are stated of two or three subjects only


def share_of_hard_distractors(items: list[Item]) -> float:
    hard = []
    for item in items:
        needed = {fact.attribute.name for fact in item.question.needs}
        subjects = {fact.subject.key for fact in item.question.needs}
        others = [p for p in item.passages if p.subject.key not in subjects]
        hard += [any(fact.attribute.name in needed for fact in p.facts) for p in others]
    return sum(hard) / len(hard)


def test_too_many_questions_for_a_cluster_is_said_clearly(make_world: Callable[..., World]) -> None:
    with pytest.raises(ConfigError, match="no more than"):
        list(make_world(per_cluster=64).items(Stream.HOTPOTQA, 64, {ask_inference: 1.0}))


def noise(**shares: float) -> Noise:
    return Noise(**{"near_duplicate": 0.1, "outdated": 0.1, "conflicting": 0.1, "same_attribute": 0.5, **shares})


@pytest.mark.parametrize(
    ("documents", "per_cluster", "shares", "key"),
    [
        (3, 16, {}, "documents_per_question"),
        (-6, 16, {}, "documents_per_question"),
        (25, 16, {}, "documents_per_question"),
        (6, 0, {}, "questions_per_cluster"),
        (6, 65, {}, "questions_per_cluster"),
        (6, 16, {"outdated": 1.01}, "noise.outdated"),
        (6, 16, {"near_duplicate": -0.1}, "noise.near_duplicate"),
        (6, 16, {"conflicting": float("nan")}, "noise.conflicting"),
    ],
)
def test_nonsense_settings_are_refused(documents: int, per_cluster: int, shares: dict[str, float], key: str) -> None:
    settings = WorldSettings(documents_per_question=documents, questions_per_cluster=per_cluster, noise=noise(**shares))
    with pytest.raises(ConfigError) as caught:
        check_world(settings, "generate_sample")
    assert caught.value.where == f"generate_sample.{key}"


@pytest.mark.parametrize("shares", [{"a": 0.5, "b": 0.4}, {"a": 1.5, "b": -0.5}, {"a": 0.0}, {"a": float("inf")}])
def test_shares_must_be_a_distribution(shares: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        check_shares(shares, "x")

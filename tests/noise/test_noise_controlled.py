"""Controlled noise: what it must reach, what it must never do, and that other data do not matter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithline.data.schema import QUESTIONS
from faithline.noise.controlled import ControlledTally, controlled, perturb, read_pools
from faithline.noise.distractors import DistractorPool
from faithline.noise.settings import ControlledNoise

POOL = 60


def setting(**changes: Any) -> ControlledNoise:
    base: dict[str, Any] = {
        "seed": 3,
        "add_distractors": 0,
        "irrelevant_share": None,
        "raise_by": "add_distractors",
        "max_documents": 100,
    }
    return ControlledNoise(**{**base, **changes})


def pool(size: int = POOL, start: int = 0) -> DistractorPool:
    numbers = range(start, start + size)
    return DistractorPool.of(
        [(pa.array([f"s/{n}" for n in numbers], pa.string()), pa.array([f"text {n}" for n in numbers], pa.string()))]
    )


def table(rows: list[tuple[str, list[tuple[int, bool | None]]]]) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "question_id": f"s/{name}",
                "set": "s",
                "split": "test",
                "question": "q",
                "answers": ["a"],
                "answerable": True,
                "question_type": "",
                "hops": None,
                "documents": [f"s/{number}" for number, _ in shown],
                "supporting": [flag for _, flag in shown],
                "plan": [],
            }
            for name, shown in rows
        ],
        schema=QUESTIONS,
    )


def shown_by(result: pa.Table) -> list[list[tuple[str, bool | None]]]:
    return [list(zip(row["documents"], row["supporting"], strict=True)) for row in result.to_pylist()]


def ten(name: str, gold: int = 2, total: int = 10, start: int = 0) -> tuple[str, list[tuple[int, bool | None]]]:
    return name, [(start + number, number < gold) for number in range(total)]


def test_nothing_asked_nothing_changed() -> None:
    questions, tally = table([ten("a"), ("none", []), ("odd", [(1, None)])]), ControlledTally()
    assert perturb(questions, pool(), setting(), tally).equals(questions)
    assert tally == ControlledTally(questions=3)


def test_k_distractors_by_hand() -> None:
    questions, tally = table([ten("a"), ten("b", total=3, start=20)]), ControlledTally()
    result = perturb(questions, pool(), setting(add_distractors=5), tally)
    assert result.schema.equals(QUESTIONS)
    for before, after in zip(shown_by(questions), shown_by(result), strict=True):
        added = [entry for entry in after if entry not in before]
        assert len(added) == len({document for document, _ in added}) == 5
        assert not any(flag for _, flag in added)
        assert [entry for entry in after if entry in before] == before  # the others keep their order
    assert (tally.distractors_added, tally.distractors_lacking) == (10, 0)
    assert result.drop(["documents", "supporting"]).equals(questions.drop(["documents", "supporting"]))


def test_added_documents_lie_anywhere() -> None:
    rows = [ten(f"q{n}") for n in range(400)]
    result = perturb(table(rows), pool(), setting(add_distractors=1), ControlledTally())
    given_ids = {f"s/{n}" for n in range(10)}
    places = [next(p for p, (d, _) in enumerate(shown) if d not in given_ids) for shown in shown_by(result)]
    assert np.bincount(places, minlength=11).min() > 10


@pytest.mark.parametrize(
    ("target", "raise_by", "gold", "total"),
    [
        (0.9, "add_distractors", 2, 20),  # 18 of 20
        (0.5, "add_distractors", 2, 4),  # drops 6 of 8
        (0.0, "add_distractors", 2, 2),
        (0.9, "drop_gold", 1, 9),  # 8 of 9: within 1/9
        (1.0, "drop_gold", 0, 8),
        (0.8, "drop_gold", 2, 10),
    ],
)
def test_targets_by_hand(target: float, raise_by: str, gold: int, total: int) -> None:
    tally = ControlledTally()
    result = perturb(table([ten("a")]), pool(), setting(irrelevant_share=target, raise_by=raise_by), tally)
    (shown,) = shown_by(result)
    assert (sum(bool(flag) for _, flag in shown), len(shown)) == (gold, total)
    assert (tally.reached, tally.not_reached) == (1, 0)
    assert result["answerable"].to_pylist() == [gold > 0]
    assert tally.made_unanswerable == (gold == 0)
    assert tally.partly_supported == (gold == 1)


questions_strategy = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 12)).map(lambda pair: pair), min_size=1, max_size=8
).map(lambda pairs: [(f"q{n}", [(at, at < gold) for at in range(gold + rest)]) for n, (gold, rest) in enumerate(pairs)])


@given(
    questions_strategy,
    st.floats(0, 1),
    st.sampled_from(["add_distractors", "drop_gold"]),
    st.integers(0, 4),
    st.integers(1, 90),
)
def test_reached_means_reached_and_only_the_infeasible_is_not(
    rows: list[tuple[str, list[tuple[int, bool | None]]]], target: float, raise_by: str, extra: int, most: int
) -> None:
    tally, changed = (
        ControlledTally(),
        setting(irrelevant_share=target, raise_by=raise_by, add_distractors=extra, max_documents=most),
    )
    questions = table(rows)
    result = shown_by(perturb(questions, pool(), changed, tally))
    reached = 0
    for before, after in zip(shown_by(questions), result, strict=True):
        gold, total = sum(flag is True for _, flag in after), len(after)
        assert len({d for d, _ in after} - {d for d, _ in before}) == sum(entry not in before for entry in after)
        assert total <= max(most, len(before))
        assert {d for d, flag in after if flag} <= {d for d, flag in before if flag}
        close = total > 0 and abs((total - gold) / total - target) <= 1 / total + 1e-9
        reached += close
        held = sum(flag is True for _, flag in before)
        needed = held * target / (1 - target) + held if target < 1 else np.inf
        feasible = len(before) > 0 and held > 0 and needed + 1 <= min(most, POOL) and raise_by == "add_distractors"
        assert close or not feasible
    assert (tally.reached, tally.not_reached) == (reached, len(rows) - reached)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 2**64))
def test_more_draws_extend_fewer_and_stronger_targets_drop_more(few: int, more: int, seed: int) -> None:
    few, more = sorted((few, more))
    questions = table([ten("a"), ten("b", start=5)])

    def sets(**changes: Any) -> list[set[tuple[str, bool | None]]]:
        return [
            set(shown)
            for shown in shown_by(perturb(questions, pool(), setting(seed=seed, **changes), ControlledTally()))
        ]

    assert all(
        less <= greater for less, greater in zip(sets(add_distractors=few), sets(add_distractors=more), strict=True)
    )
    low, high = (sets(irrelevant_share=share) for share in (few / 40, more / 40))
    assert all(less <= greater for less, greater in zip(low, high, strict=True))


def test_neither_batches_nor_order_nor_other_questions_matter() -> None:
    rows = [ten(f"q{n}", start=n % 7) for n in range(30)]
    changed = setting(add_distractors=3, irrelevant_share=0.85)
    whole = perturb(table(rows), pool(), changed, ControlledTally())
    batches = [table(rows[start : start + 4]) for start in range(0, 30, 4)]
    one, other = ControlledTally(), ControlledTally()
    assert (
        pa.concat_tables(controlled(batches, {"s": pool()}, changed, one))
        .combine_chunks()
        .equals(whole.combine_chunks())
    )
    back = perturb(table(rows[::-1]), pool(), changed, other)
    assert shown_by(back)[::-1] == shown_by(whole)
    assert one == other
    assert list(controlled([table([])], {}, changed, one)) == []


def test_growth_changes_few_draws() -> None:
    questions = table([ten(f"q{n}") for n in range(300)])
    before, after = (
        shown_by(perturb(questions, pool(size), setting(add_distractors=4), ControlledTally())) for size in (1000, 1050)
    )
    changed = sum(len(set(one) - set(other)) for one, other in zip(before, after, strict=True))
    # 50 of 1,050 documents are new, so about one draw in 21 takes one of them: 57 of 1,200.
    assert 20 <= changed <= 110
    new = {f"s/{n}" for n in range(1000, 1050)}
    assert all({d for d, _ in set(other) - set(one)} <= new for one, other in zip(before, after, strict=True))


def test_own_documents_are_never_drawn_not_even_under_another_title() -> None:
    ids = pa.array([f"s/{n}" for n in range(12)])
    texts = pa.array(["Gold text.", *(f"text {n}" for n in range(1, 10)), "GOLD  text", "free"])
    twins = DistractorPool.of([(ids, texts)])
    assert len(twins) == 11
    tally = ControlledTally()
    (shown,) = shown_by(perturb(table([ten("a", gold=1)]), twins, setting(add_distractors=5), tally))
    assert [d for d, _ in shown if d not in {f"s/{n}" for n in range(10)}] == ["s/11"]
    assert (tally.distractors_added, tally.distractors_lacking) == (1, 4)


def test_shortage_is_counted() -> None:
    tally = ControlledTally()
    changed = setting(irrelevant_share=0.95, max_documents=15)
    shown = shown_by(perturb(table([ten("a"), ("odd", [(1, True), (2, None)]), ("no", [])]), pool(), changed, tally))
    assert [len(entry) for entry in shown] == [15, 2, 0]  # 40 would be needed
    assert (tally.reached, tally.not_reached, tally.unknown_flags) == (0, 2, 1)
    assert (tally.distractors_added, tally.distractors_lacking) == (5, 25)
    empty = DistractorPool.of([])
    assert shown_by(perturb(table([ten("a")]), empty, changed, tally))[0] == shown_by(table([ten("a")]))[0]


def test_pools_hold_the_documents_of_their_set(make_prepared: Callable[..., Path]) -> None:
    texts = {"s": ["one", "ONE.", "two"], "t": ["three"]}
    rows = [
        {"document_id": f"{s}/{n}", "set": s, "text": text} for s, some in texts.items() for n, text in enumerate(some)
    ]
    pools = read_pools(make_prepared(documents=rows), ["s", "t", "none"])
    assert {name: len(found) for name, found in pools.items()} == {"s": 2, "t": 1, "none": 0}


def test_seed_matters() -> None:
    questions = table([ten(f"q{n}") for n in range(20)])
    one, other = (
        perturb(questions, pool(), setting(add_distractors=2, seed=seed), ControlledTally()) for seed in (1, -1)
    )
    assert not one.equals(other)

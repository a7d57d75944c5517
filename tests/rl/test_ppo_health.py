"""The health watch: each complaint, its patience, and a memory that survives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from faithline.pipeline.errors import Diverged
from faithline.rl.health import Memory, Watch, degenerate_share
from faithline.rl.row import Row
from faithline.rl.settings import Health, Ppo

GOOD = {"kl": 1.0, "entropy": 2.0, "degenerate": 0.0, "questions_per_response": 4.0}
LIMITS = {"max_kl": 10.0, "min_entropy": 0.5, "max_degenerate": 0.3}


@pytest.fixture
def health(ppo: Callable[..., Ppo]) -> Health:
    return ppo(health=LIMITS).health


def rows(*rewards: float) -> list[Row]:
    return [Row("a", [1], [2], reward) for reward in rewards]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"kl": 10.5}, r"divergence from the reference is 10.5 \(limit 10\), for 2 steps"),
        ({"entropy": 0.4}, r"entropy is 0.4 \(limit 0.5\)"),
        ({"degenerate": 0.5}, r"50% of the responses repeat themselves \(limit 30%\)"),
        ({"questions_per_response": 1.9}, "1.9 questions each, 4 at the start"),
    ],
)
def test_a_limit_counts_after_some_steps_running(health: Health, bad: dict[str, float], message: str) -> None:
    watch = Watch(health, 1.0)
    for step in (1, 2):
        watch.look(step, rows(0, 1), GOOD)
    watch.look(3, rows(0, 1), GOOD | bad)
    assert watch.uneasy
    watch.look(4, rows(0, 1), GOOD)
    assert not watch.uneasy
    watch.look(5, rows(0, 1), GOOD | bad)
    # What a checkpoint keeps of the watch goes on counting.
    memory = msgspec.json.decode(msgspec.json.encode(watch.memory), type=Memory)
    with pytest.raises(Diverged, match=message):
        Watch(health, 1.0, memory).look(6, rows(0, 1), GOOD | bad)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_counts_at_once(health: Health, value: float) -> None:
    with pytest.raises(Diverged, match=f"kl is {value}"):
        Watch(health, 1.0).look(1, rows(0, 1), GOOD | {"kl": value})


def test_flat_rewards_count_unless_they_are_the_best_there_is(health: Health) -> None:
    watch = Watch(health, 0.0)
    for step in range(1, 9):
        watch.look(step, rows(0.0, 0.0), GOOD)
    watch.look(9, rows(-1.0), GOOD)  # a single row cannot differ from anything
    assert not watch.uneasy
    for step in (9, 10):
        watch.look(step, rows(-1.0, -1.0), GOOD)
    with pytest.raises(Diverged, match="reward -1: there is nothing to learn from, for 3 steps"):
        watch.look(11, rows(-1.0, -1.0), GOOD)


def test_a_slow_drift_of_questions_is_measured_from_the_start(health: Health) -> None:
    watch = Watch(health, 1.0)
    for step, questions in enumerate([5.0, 3.0, 3.0, 2.5, 2.1], start=1):
        watch.look(step, rows(0, 1), GOOD | {"questions_per_response": questions})
    assert not watch.uneasy
    assert watch.memory.questions == [5.0, 3.0]
    watch.look(6, rows(0, 1), GOOD | {"questions_per_response": 1.99})
    assert watch.uneasy
    del (quiet := dict(GOOD))["questions_per_response"]
    Watch(health, 1.0).look(1, rows(0, 1), quiet)


@pytest.mark.parametrize(
    ("ids", "share"),
    [
        ([7] * 60, 1.0),  # 58 runs, one of them new
        (list(range(60)), 0.0),
        ([1, 2, 3] * 20, 1.0),  # three new runs of 58
        ([7] * 49, 0.0),  # too short to judge
        ([*range(30), *range(30)], 0.0),  # half of the runs come again
    ],
)
def test_degenerate_responses_by_hand(health: Health, ids: list[int], share: float) -> None:
    assert degenerate_share([Row("a", [1], ids, 0.0)], health) == share


def test_the_share_is_over_all_rows(health: Health) -> None:
    own: list[Any] = [Row("a", [1], [7] * 60, 0.0), Row("a", [1], [2], 0.0)]
    assert degenerate_share(own, health) == 0.5

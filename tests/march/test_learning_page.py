"""The learning benchmark's page: the requirement by hand, and every figure where it belongs."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from benchmarks.learning_report import Agreement, holds, page
from benchmarks.learning_settings import load
from benchmarks.learning_task import Figures, items, measure


def policy(wrong: int, claims: float = 2.0, answered: int = 400, total: int = 400) -> Figures:
    """`wrong` of the responses have a wrong number, the first ones; the first `answered` answer."""
    return Figures(
        wrong=(np.arange(total) < wrong).astype(float),
        claims=np.full(total, claims),
        answered=(np.arange(total) < answered).astype(float),
        complete=np.zeros(total),
        characters=np.full(total, 50.0),
    )


@pytest.mark.parametrize(
    ("arm", "expected"),
    [
        (policy(90), True),  # 120 -> 90: a quarter
        (policy(91), False),
        (policy(60, claims=1.8), True),
        (policy(60, claims=1.79), False),
        (policy(60, answered=360), True),
        (policy(60, answered=359), False),
    ],
)
def test_the_requirement(arm: Figures, expected: bool) -> None:
    assert holds(arm, policy(120))[0] is expected


def test_a_fall_by_chance_does_not_count() -> None:
    """8 of 20 against 6 of 20, other ones: a quarter less, but the interval holds zero."""
    start, arm = (np.arange(20) < 8).astype(float), (np.arange(20) >= 14).astype(float)
    ones = np.ones(20)
    found = [Figures(wrong=wrong, claims=ones, answered=ones, complete=ones, characters=ones) for wrong in (arm, start)]
    assert holds(*found)[0] is False


def test_the_page_has_every_figure() -> None:
    settings = load()
    found = {name: policy(wrong) for name, wrong in (("warm_start", 120), ("ztr_solver", 80), ("err_both", 119))}
    agreed = Agreement(items=50, wrong=20, caught=18, cleared=27, questions=1.5, numbers=1.75)
    text = page(settings, found, agreed, {"ztr_solver": 1200.0}, "2 cores")
    assert "| ztr solver | solver | ZTR | 20.0 %" in text
    assert "| -10.0 [" in text
    assert "| -33% | 2.00 | 100.0% | 0.0% | 20 |" in text
    assert "| err both | solver + checker | ERR |" in text
    assert "| 20 with a wrong number | 90% get -1 |" in text
    assert "| 30 without | 90% get 0 |" in text
    assert "ztr solver: holds" in text
    assert "err both: does not hold" in text


def test_settings_give_each_arm_its_own() -> None:
    settings = load()
    assert {arm.outcome for arm in settings.arms.values()} == {"ztr", "err"}
    for arm in settings.arms.values():
        assert settings.reward_of(arm).outcome == arm.outcome
        ppo = settings.ppo_of(arm)
        assert ppo.trained_roles == arm.trained_roles
        # One optimiser step takes a whole batch, however many roles learn.
        assert ppo.minibatch_rows == len(arm.trained_roles) * settings.ppo.batch_questions
    assert msgspec.to_builtins(settings)["reward"]["empty_reward"] == -1.0


def test_parts_share_no_cluster() -> None:
    settings = load()
    counts = msgspec.to_builtins(settings.items) | {
        "warm_start": max(msgspec.structs.astuple(settings.warm_start.train))
    }
    clusters = {part: {item.id.rsplit("_", 1)[0] for item in items(part, count)} for part, count in counts.items()}
    names = list(clusters)
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            assert not clusters[one] & clusters[other], (one, other)


def test_measuring_faithful_responses() -> None:
    chosen = items("held_out", 30)
    found = measure(chosen, [item.response for item in chosen])
    assert found.wrong.sum() == 0
    assert found.complete.all()
    assert found.claims.tolist() == [len(item.asked) for item in chosen]
    silent = measure(chosen, [""] * 30)
    assert (silent.wrong.sum(), silent.answered.sum(), silent.complete.sum()) == (0, 0, 0)

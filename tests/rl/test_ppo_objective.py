"""The objective against figures worked out by hand: verl's functions, called the way that our settings mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from faithline.rl import objective
from faithline.rl.objective import Scale
from faithline.rl.rows import place_rewards
from faithline.rl.settings import Clip, Kl

CLIP = Clip(low=0.2, high=0.3, dual=3.0, value=0.5)


def kl(**patch: Any) -> Kl:
    plain = {
        "where": "reward",
        "estimator": "k1",
        "controller": "fixed",
        "coefficient": 0.1,
        "target": 6.0,
        "horizon": 100.0,
        "floor": 0.05,
    }
    return msgspec.convert(plain | patch, Kl)


def gae(rewards: list[list[float]], values: list[list[float]], mask: Tensor, **patch: Any) -> objective.Advantages:
    plain: dict[str, Any] = {"gamma": 1.0, "lam": 1.0, "whitening": "joint", "roles": ["a"] * len(rewards)} | patch
    roles = plain.pop("roles")
    return objective.advantages(torch.tensor(rewards), torch.tensor(values), mask, roles, **plain)


def test_gae_by_hand() -> None:
    mask = torch.ones(1, 3, dtype=torch.bool)
    found = gae([[0.0, 0.0, 1.0]], [[0.5, 0.4, 0.3]], mask, gamma=0.9, lam=0.8)
    # delta: 1 - .3 = .7; .9 * .3 - .4 = -.13; .9 * .4 - .5 = -.14; decay .72
    plain = np.array([-0.14 + 0.72 * 0.374, -0.13 + 0.72 * 0.7, 0.7])
    np.testing.assert_allclose(found.returns[0], plain + np.array([0.5, 0.4, 0.3]), atol=1e-6)
    np.testing.assert_allclose(found.advantages[0], (plain - plain.mean()) / plain.std(ddof=1), atol=1e-5)


@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=5), st.floats(0.5, 1.0), st.floats(0.0, 1.0), st.integers(0, 99)
)
def test_gae_is_the_recursion_row_by_row(lengths: list[int], gamma: float, lam: float, seed: int) -> None:
    random, width = np.random.default_rng(seed), max(lengths) + 2
    mask = np.arange(width)[None, :] < np.array(lengths)[:, None]
    rewards, values = random.normal(size=(2, len(lengths), width)).astype(np.float32) * mask
    found = gae(rewards.tolist(), values.tolist(), torch.tensor(mask), gamma=gamma, lam=lam)
    for row, length in enumerate(lengths):
        advantage = 0.0
        for place in reversed(range(length)):
            after = values[row, place + 1] if place + 1 < length else 0.0
            delta = rewards[row, place] + gamma * after - values[row, place]
            advantage = delta + gamma * lam * advantage
            assert found.returns[row, place] == pytest.approx(advantage + values[row, place], abs=1e-4)


def test_the_released_code_loses_the_checkers_reward_and_ours_does_not() -> None:
    """Released MARCH puts the Checker's reward at the last index of the padded tensor, which GAE skips."""
    mask = torch.tensor([[True, True, True, False, False, False]])
    nothing = torch.zeros(1, 6)
    theirs = torch.zeros(1, 6)
    theirs[:, -1] = -1.0
    assert gae(theirs.tolist(), nothing.tolist(), mask, gamma=0.998).returns[mask].tolist() == [0.0, 0.0, 0.0]
    ours = place_rewards(torch.tensor([-1.0]), mask)
    assert ours.tolist() == [[0, 0, -1, 0, 0, 0]]
    returns = gae(ours.tolist(), nothing.tolist(), mask, gamma=0.998).returns[mask]
    np.testing.assert_allclose(returns, [-0.996004, -0.998, -1.0], atol=1e-6)


@given(st.lists(st.lists(st.booleans(), min_size=7, max_size=7), min_size=1, max_size=6))
def test_the_reward_lies_on_the_last_valid_token(masks: list[list[bool]]) -> None:
    mask = torch.tensor([[*row[:3], True, *row[3:]] for row in masks])
    rewards = torch.arange(1.0, len(masks) + 1)
    placed = place_rewards(rewards, mask)
    for row in range(len(masks)):
        expected = [0.0] * 8
        expected[max(place for place in range(8) if mask[row, place])] = float(rewards[row])
        assert placed[row].tolist() == expected


@pytest.mark.parametrize("whitening", ["joint", "per_role"])
def test_whitening_is_over_all_rows_or_each_roles(whitening: Literal["joint", "per_role"]) -> None:
    mask = torch.tensor([[True, True], [True, False], [True, True], [True, False]])
    rewards = [[0.0, 1.0], [3.0, 0.0], [0.0, 10.0], [14.0, 0.0]]
    roles = ["solver", "solver", "checker", "checker"]
    found = gae(rewards, [[0.0, 0.0]] * 4, mask, whitening=whitening, roles=roles)
    raw = {"solver": [1.0, 1.0, 3.0], "checker": [10.0, 10.0, 14.0]}
    both = np.array(raw["solver"] + raw["checker"])
    if whitening == "joint":
        expected = (both - both.mean()) / both.std(ddof=1)
    else:
        parts = [np.array(raw[role]) for role in ("solver", "checker")]
        expected = np.concatenate([(part - part.mean()) / part.std(ddof=1) for part in parts])
    np.testing.assert_allclose(found.advantages[mask], expected, atol=1e-4)


def test_a_single_token_has_the_advantage_zero() -> None:
    mask = torch.tensor([[True]])
    found = gae([[5.0]], [[1.0]], mask)
    assert (found.advantages.item(), found.returns.item()) == (0.0, 5.0)


@pytest.mark.parametrize("name", ["k1", "k2", "k3"])
@pytest.mark.parametrize("difference", [-1.5, 0.0, 0.25, 2.0])
def test_kl_estimators(name: str, difference: float) -> None:
    by_hand = {
        "k1": difference,
        "k2": difference**2 / 2,
        "k3": math.exp(-difference) - 1 + difference,
    }
    found = objective.kl_per_token(torch.tensor([[difference - 3.0]]), torch.tensor([[-3.0]]), kl(estimator=name))
    assert found.item() == pytest.approx(by_hand[name], abs=1e-6)


def test_the_penalty_is_part_of_the_reward_only_where_asked_for() -> None:
    mask = torch.tensor([[True, True, False]])
    divergence = torch.tensor([[0.5, -1.0, 7.0]])
    inside = objective.token_rewards(torch.tensor([2.0]), mask, divergence, kl(), 0.1)
    np.testing.assert_allclose(inside, [[-0.05, 2.1, 0.0]], atol=1e-6)
    outside = objective.token_rewards(torch.tensor([2.0]), mask, divergence, kl(where="loss", estimator="k3"), 0.1)
    assert outside.tolist() == [[0, 2, 0]]


@pytest.mark.parametrize(
    ("advantage", "ratio", "loss", "fractions"),
    [
        (1.0, 1.1, -1.1, (0, 0)),
        (1.0, 1.5, -1.3, (1, 0)),  # counts up to 1 + high
        (1.0, 0.5, -0.5, (0, 0)),
        (-1.0, 0.5, 0.8, (1, 0)),  # counts down to 1 - low
        (-2.0, 1.5, 3.0, (0, 0)),
        (-2.0, 5.0, 6.0, (0, 1)),  # dual clip: up to 3
    ],
)
def test_policy_loss_by_hand(advantage: float, ratio: float, loss: float, fractions: tuple[int, int]) -> None:
    old, new = torch.tensor([[-2.0]]), torch.tensor([[-2.0 + math.log(ratio)]])
    mask = torch.tensor([[True]])
    scale = Scale("token", tokens=1, rows=1)
    found, metrics = objective.policy_loss(old, new, torch.tensor([[advantage]]), mask, clip=CLIP, scale=scale)
    assert found.item() == pytest.approx(loss, abs=1e-5)
    assert (metrics["clip_fraction"], metrics["dual_clip_fraction"]) == fractions
    assert metrics["step_kl"] == pytest.approx(-math.log(ratio), abs=1e-5)


@pytest.mark.parametrize(
    ("predicted", "returns", "loss", "clipped"),
    [
        (1.2, 2.0, 0.5 * 0.8**2, 0),
        (1.9, 2.0, 0.5 * 0.5**2, 1),  # counts as 1.5, half away from the old value of 1
        (0.0, 2.0, 0.5 * 2.0**2, 0),  # the worse of the two counts
    ],
)
def test_value_loss_by_hand(predicted: float, returns: float, loss: float, clipped: float) -> None:
    scale = Scale("token", tokens=1, rows=1)
    found = objective.value_loss(
        torch.tensor([[predicted]]),
        torch.tensor([[returns]]),
        torch.tensor([[1.0]]),
        torch.tensor([[True]]),
        clip=CLIP,
        scale=scale,
    )
    assert found[0].item() == pytest.approx(loss, abs=1e-6)
    assert found[1] == clipped


@pytest.mark.parametrize("kind", ["token", "row"])
@given(cut=st.lists(st.integers(0, 2), min_size=4, max_size=4))
def test_shares_of_parts_add_up_to_the_mean(kind: Literal["token", "row"], cut: Sequence[int]) -> None:
    values = torch.tensor([[1.0, 3.0, 8.0], [5.0, 7.0, 0.0], [2.0, 0.0, 0.0], [4.0, 4.0, 4.0]])
    mask = torch.tensor([[1, 1, 1], [1, 1, 0], [1, 0, 0], [1, 1, 1]], dtype=torch.bool)
    scale = Scale.of(mask, kind)
    by_hand = {"token": (12 + 12 + 2 + 12) / 9, "row": (4 + 6 + 2 + 4) / 4}
    parts = [[row for row in range(4) if cut[row] == part] for part in range(3)]
    shares = [objective.mean(values[part], mask[part], scale) for part in parts if part]
    assert sum(shares).item() == pytest.approx(by_hand[kind], abs=1e-5)


def test_the_adaptive_coefficient_follows_the_divergence_down_to_its_floor() -> None:
    controller = objective.kl_controller(kl(controller="adaptive", coefficient=0.1))
    controller.update(9.0, rows=50)  # 9 is 1.5 times the target; an error counts as 0.2 at most
    assert controller.coefficient == pytest.approx(0.1 * (1 + 0.2 * 50 / 100))
    controller.update(5.4, rows=10)
    assert controller.coefficient == pytest.approx(0.11 * (1 - 0.1 * 10 / 100))
    for _ in range(20):
        controller.update(0.0, rows=50)
    assert controller.coefficient == 0.05
    controller.restore(0.3)
    assert controller.coefficient == 0.3


def test_a_fixed_coefficient_stays() -> None:
    controller = objective.kl_controller(kl(coefficient=0.001))
    controller.update(1e6, rows=50)
    assert controller.coefficient == 0.001

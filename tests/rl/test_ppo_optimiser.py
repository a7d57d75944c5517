"""AdamW: learning rates by hand, clipping, and a state that goes on bit by bit."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
import pytest
import torch
from torch import nn

from faithline.pipeline.errors import ConfigError, Diverged
from faithline.rl.optimiser import Optimiser, learning_rate
from faithline.rl.settings import Actor, Ppo


def actor(**patch: object) -> Actor:
    plain = {
        "learning_rate": 0.1,
        "scheduler": "constant",
        "warmup_steps": 0,
        "weight_decay": 0.0,
        "max_grad_norm": 1.0,
    }
    return msgspec.convert(plain | patch, Actor)


@pytest.mark.parametrize(
    ("scheduler", "expected"),
    [
        ("constant", [0.025, 0.05, 0.075, 0.1, 0.1, 0.1, 0.1, 0.1]),
        ("linear", [0.025, 0.05, 0.075, 0.1, 0.1, 0.075, 0.05, 0.025]),
        ("cosine", [0.025, 0.05, 0.075, 0.1, 0.1, 0.05 * (1 + math.cos(math.pi / 4)), 0.05, 0.05 * (1 - 0.5**0.5)]),
    ],
)
def test_rates_by_hand(scheduler: str, expected: list[float]) -> None:
    settings = actor(scheduler=scheduler, warmup_steps=4)
    assert [learning_rate(settings, step, 8) for step in range(1, 9)] == pytest.approx(expected)


def test_a_long_gradient_is_clipped_and_its_length_told() -> None:
    parameter = nn.Parameter(torch.zeros(2))
    optimiser = Optimiser("policy", {"w": parameter}, actor(), steps=3)
    parameter.grad = torch.tensor([3.0, 4.0])
    assert optimiser.clip(1) == pytest.approx(5.0)
    assert parameter.grad.tolist() == pytest.approx([0.6, 0.8], abs=1e-5)
    optimiser.step(1)
    assert parameter.tolist() == pytest.approx([-0.1, -0.1], abs=1e-5)  # Adam's first step is the rate
    assert parameter.grad is None


def test_a_gradient_that_is_not_finite_changes_nothing() -> None:
    parameter = nn.Parameter(torch.ones(2))
    optimiser = Optimiser("policy", {"w": parameter}, actor(), steps=3)
    parameter.grad = torch.tensor([1.0, math.nan])
    with pytest.raises(Diverged, match="gradient of `policy` is not finite at step 2"):
        optimiser.clip(2)
    assert parameter.tolist() == [1.0, 1.0]


def test_a_restored_state_goes_on_bit_by_bit() -> None:
    def course(cut: int | None) -> object:
        random = torch.Generator().manual_seed(0)
        parameter = nn.Parameter(torch.ones(3))
        optimiser = Optimiser("policy", {"w": parameter}, actor(weight_decay=0.1), steps=9)
        for step in range(1, 7):
            parameter.grad = torch.randn(3, generator=random)
            optimiser.step(step)
            if step == cut:
                state, parameter = optimiser.state(), nn.Parameter(parameter.detach().clone())
                optimiser = Optimiser("policy", {"w": parameter}, actor(weight_decay=0.1), steps=9)
                optimiser.restore(state)
        return parameter.tolist()

    assert course(None) == course(1) == course(4)


def test_a_state_of_other_parameters_is_refused() -> None:
    one = Optimiser("policy", {"w": nn.Parameter(torch.ones(3))}, actor(), steps=9)
    with pytest.raises(ConfigError, match="does not fit"):
        one.restore({"w|exp_avg": torch.zeros(4)})
    with pytest.raises(ConfigError, match="does not fit"):
        one.restore({"v|exp_avg": torch.zeros(3)})


def test_no_state_before_the_first_step(ppo: Callable[..., Ppo]) -> None:
    assert Optimiser("policy", {"w": nn.Parameter(torch.ones(3))}, ppo().actor, steps=9).state() == {}

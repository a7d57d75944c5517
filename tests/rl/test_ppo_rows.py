"""Rows and their padded arrays: checks, packing, dealing, positions."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from faithline.pipeline.errors import DataInvalid, Diverged
from faithline.rl.row import Row
from faithline.rl.rows import group_by, minibatches, pack, pad, response_mask, to_inputs

ROWS = [Row("solver", [5, 6, 7], [8, 9], 1.0), Row("checker", [5], [6, 7, 8], -1.0)]


@pytest.mark.parametrize(("prompt", "response"), [([], [1]), ([1], [])])
def test_an_empty_row_is_refused(prompt: list[int], response: list[int]) -> None:
    with pytest.raises(DataInvalid, match="a solver row has an empty"):
        Row("solver", prompt, response, 0.0)


def test_logprobs_must_fit_the_response() -> None:
    with pytest.raises(DataInvalid, match="2 response tokens but 1 log-prob"):
        Row("solver", [1], [2, 3], 0.0, sampled_logprobs=[-1.0])


@pytest.mark.parametrize("reward", [math.nan, math.inf, -math.inf])
def test_a_reward_that_is_not_finite_ends_the_training(reward: float) -> None:
    with pytest.raises(Diverged, match="reward of a solver row"):
        Row("solver", [1], [2], reward)


def test_inputs_by_hand() -> None:
    inputs = to_inputs(ROWS, torch.device("cpu"))
    assert inputs.ids.tolist() == [[5, 6, 7, 8, 9], [5, 6, 7, 8, 0]]
    # The position before a token predicts it.
    assert inputs.selected.int().tolist() == [[0, 0, 1, 1, 0], [1, 1, 1, 0, 0]]
    assert inputs.targets.tolist() == [8, 9, 6, 7, 8]
    assert inputs.mask.int().tolist() == [[1, 1, 0], [1, 1, 1]]
    assert inputs.scatter(torch.arange(1.0, 6)).tolist() == [[1, 2, 0], [3, 4, 5]]
    assert pad([[1, 2], [3, 4, 5]], response_mask(ROWS)).tolist() == [[1, 2, 0], [3, 4, 5]]


@given(st.lists(st.integers(1, 60), min_size=1, max_size=40), st.integers(1, 200))
def test_packs_hold_every_row_once_within_the_budget(lengths: list[int], budget: int) -> None:
    batches = pack(lengths, budget)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[index] for index in batch) <= budget
    longest = [max(lengths[index] for index in batch) for batch in batches]
    assert longest == sorted(longest, reverse=True)


@given(st.integers(1, 70), st.integers(1, 20), st.integers(0, 5))
def test_minibatches_are_equal_and_hold_every_row_once(rows: int, size: int, seed: int) -> None:
    parts = minibatches(rows, size, np.random.default_rng(seed))
    assert sorted(np.concatenate(parts).tolist()) == list(range(rows))
    sizes = {len(part) for part in parts}
    assert max(sizes) <= size
    assert max(sizes) - min(sizes) <= 1


def test_groups_are_sorted_by_name() -> None:
    groups = group_by(["b", "a", "b"])
    assert {name: places.tolist() for name, places in groups.items()} == {"a": [1], "b": [0, 2]}
    assert list(groups) == ["a", "b"]

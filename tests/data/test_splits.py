"""Splits: known values, shares, and stability under re-ordering, growth and moved boundaries."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithline.data.splits import Splitter
from faithline.pipeline.errors import ConfigError

ids = st.lists(st.text(min_size=1, max_size=8), max_size=30)


def test_by_the_written_rule() -> None:
    """Independent re-computation: the first 53 bits of SHA-256 as a fraction, against .7 and .8."""
    keys = [f"question {number}" for number in range(500)]
    expected = []
    for key in keys:
        bits = int(hashlib.sha256(f"17|hotpotqa|{key}".encode()).hexdigest(), 16) >> (256 - 53)
        fraction = bits / 2**53
        expected.append(0 if fraction < 0.7 else 1 if fraction < 0.7 + 0.1 else 2)
    assert Splitter(17, "hotpotqa", (0.7, 0.1, 0.2)).assign(keys).tolist() == expected


@given(ids, st.randoms(use_true_random=False), ids)
def test_stable_under_order_and_growth(old: list[str], random: object, new: list[str]) -> None:
    splitter = Splitter(17, "musique", (0.7, 0.1, 0.2))
    before = dict(zip(old, splitter.assign(old).tolist(), strict=True))
    shuffled = list(old) + new
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    after = dict(zip(shuffled, splitter.assign(shuffled).tolist(), strict=True))
    assert all(after[key] == split for key, split in before.items())


@given(ids, st.floats(0, 1), st.floats(0, 1))
def test_growing_train_takes_only_from_its_neighbours(keys: list[str], one: float, other: float) -> None:
    small, large = sorted((one, other))
    before = Splitter(1, "s", (small, 0.0, 1.0 - small)).assign(keys)
    after = Splitter(1, "s", (large, 0.0, 1.0 - large)).assign(keys)
    assert not np.any((before == 0) & (after != 0))


def test_shares_are_met_and_seeds_and_sets_are_independent() -> None:
    keys = [str(number) for number in range(20_000)]
    dealt = Splitter(17, "a", (0.7, 0.1, 0.2)).assign(keys)
    # Three standard deviations of a binomial share at 20,000 draws are below 0.01.
    assert np.bincount(dealt, minlength=3) / len(keys) == pytest.approx([0.7, 0.1, 0.2], abs=0.01)
    for other in (Splitter(18, "a", (0.7, 0.1, 0.2)), Splitter(17, "b", (0.7, 0.1, 0.2))):
        agreement = float(np.mean(dealt == other.assign(keys)))
        assert agreement == pytest.approx(0.7**2 + 0.1**2 + 0.2**2, abs=0.015)


@pytest.mark.parametrize(("shares", "split"), [((1.0, 0.0, 0.0), 0), ((0.0, 1.0, 0.0), 1), ((0.0, 0.0, 1.0), 2)])
def test_whole_set_in_one_split(shares: tuple[float, float, float], split: int) -> None:
    assert set(Splitter(1, "s", shares).assign([str(n) for n in range(2000)]).tolist()) == {split}


def test_a_split_without_share_stays_empty_despite_rounding() -> None:
    dealt = Splitter(1, "s", (0.1 + 0.2, 0.7, 0.0)).assign([str(n) for n in range(5000)])
    assert set(dealt.tolist()) == {0, 1}


@pytest.mark.parametrize(
    "shares", [(0.7, 0.1, 0.1), (0.0, 0.0, 0.0), (1.2, -0.2, 0.0), (float("nan"), 0.5, 0.5), (1.0, 1.0, -1.0)]
)
def test_bad_shares_are_a_config_error(shares: tuple[float, float, float]) -> None:
    with pytest.raises(ConfigError) as caught:
        Splitter(1, "myset", shares)
    assert "myset" in caught.value.where
    assert caught.value.exit_code == 40


def test_no_ids() -> None:
    assert Splitter(1, "s", (1.0, 0.0, 0.0)).assign([]).tolist() == []

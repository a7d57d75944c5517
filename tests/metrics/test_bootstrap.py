"""Bootstrap intervals against theory, brute force, and their own seed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from faithline.metrics.bootstrap import mean_interval, paired_difference, resampled_means


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_resampled_means_are_means_of_items_drawn_with_replacement() -> None:
    # Two items 0 and 1: a mean is 0, 1/2 or 1 with probability 1/4, 1/2, 1/4.
    means = resampled_means(np.array([0.0, 1.0]), 40_000, generator())
    shares = [(means == value).mean() for value in (0, 0.5, 1)]
    assert sum(shares) == 1
    assert shares == pytest.approx([0.25, 0.5, 0.25], abs=0.01)


def test_spread_is_the_standard_error() -> None:
    values = generator(1).normal(size=400)
    means = resampled_means(values, 4000, generator(2))
    assert means.std() == pytest.approx(values.std() / math.sqrt(400), rel=0.05)


def test_interval_is_that_of_drawing_items_one_by_one() -> None:
    values = np.round(generator(3).random(60), 1)  # many items share their values
    mean, lo, hi = mean_interval(values, 20_000, 0.9, generator(4))
    plain = values[generator(5).integers(0, 60, size=(20_000, 60))].mean(axis=1)
    assert mean == pytest.approx(values.mean())
    assert [lo, hi] == pytest.approx(np.percentile(plain, [5, 95]).tolist(), abs=0.003)


def test_order_of_items_does_not_matter() -> None:
    values = np.round(generator(6).random(60), 1)
    found = [mean_interval(items, 100, 0.9, generator(7)) for items in (values, values[::-1])]
    assert found[0] == pytest.approx(found[1])


def test_coverage_of_a_proportion_is_near_nominal() -> None:
    rng = generator(4)
    runs, hits = 300, 0
    for _ in range(runs):
        sample = (rng.random(100) < 0.3).astype(float)
        _, lo, hi = mean_interval(sample, 300, 0.95, rng)
        hits += lo <= 0.3 <= hi
    assert 0.90 <= hits / runs <= 0.98


def test_equal_seeds_give_equal_draws_in_chunks_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    values = generator(5).random(50)
    whole = resampled_means(values, 101, generator(6))
    np.testing.assert_array_equal(whole, resampled_means(values, 101, generator(6)))
    monkeypatch.setattr("faithline.metrics.bootstrap._CELLS", 120)
    np.testing.assert_allclose(whole, resampled_means(values, 101, generator(6)), rtol=1e-12)


def test_paired_difference_is_tighter_than_two_intervals() -> None:
    easy = generator(7).random(200)
    candidate = easy + 0.02
    assert paired_difference(candidate, easy, 200, 0.95, generator(8)) == pytest.approx((0.02, 0.02, 0.02))
    _, lo, hi = mean_interval(candidate, 200, 0.95, generator(8))
    assert hi - lo > 0.05


@pytest.mark.parametrize("values", [np.empty(0), np.array([np.nan]), np.array([np.inf, 1.0])])
def test_what_cannot_be_averaged_is_refused(values: np.ndarray) -> None:
    with pytest.raises(ValueError, match="finite"):
        mean_interval(values, 100, 0.95, generator())


def test_unpaired_tables_are_refused() -> None:
    with pytest.raises(ValueError, match="not paired"):
        paired_difference(np.ones(3), np.ones(2), 100, 0.95, generator())

"""Slices: which there are, who is in them, and what their numbers depend on."""

from __future__ import annotations

import numpy as np

from faithline.metrics.slices import Bootstrap, Estimate, cross, estimate

BOOTSTRAP = Bootstrap(samples=200, confidence=0.95, seed=1)
LABELS = {
    "set": ["a", "a", "a", "b", "b"],
    "hops": ["2", "3", "2", "", "2"],
    "kind": ["", "", "", "yesno", "yesno"],
}
METRICS = {
    "em": np.array([1.0, 0.0, 1.0, 1.0, np.nan]),
    "rate": np.array([1.0, 1.0, 0.0, 0.0, 0.0]),
    "never": np.full(5, np.nan),
}


def test_cross_lists_every_split_that_tells_something() -> None:
    found = cross(LABELS, "set", ["hops", "kind"])
    assert found == [
        {},
        {"set": "a"},
        {"set": "b"},
        {"hops": "2"},
        {"hops": "3"},
        {"set": "a", "hops": "2"},
        {"set": "a", "hops": "3"},
        {"set": "b", "hops": "2"},  # the other b item's hops are unknown
        {"kind": "yesno"},  # of all; within b it would repeat b
    ]


def test_means_are_over_the_items_a_metric_applies_to() -> None:
    found = estimate(METRICS, LABELS, {"set": "b"}, BOOTSTRAP)
    assert (found.where, found.n, list(found.metrics)) == ({"set": "b"}, 2, ["em", "rate"])
    assert found.metrics["em"] == Estimate(n=1, mean=1.0, lo=1.0, hi=1.0)
    assert found.metrics["rate"] == Estimate(n=2, mean=0.0, lo=0.0, hi=0.0)
    everything = estimate(METRICS, LABELS, {}, BOOTSTRAP).metrics
    assert (everything["em"].n, everything["em"].mean) == (4, 0.75)
    assert (everything["rate"].n, everything["rate"].mean) == (5, 0.4)
    assert everything["em"].lo < 0.75 < everything["em"].hi <= 1.0


def test_a_slice_does_not_depend_on_items_outside_it() -> None:
    inside = estimate(METRICS, LABELS, {"set": "a"}, BOOTSTRAP)
    alone = estimate(
        {name: column[:3] for name, column in METRICS.items()},
        {name: column[:3] for name, column in LABELS.items()},
        {"set": "a"},
        BOOTSTRAP,
    )
    assert inside == alone


def test_the_seed_decides_the_draws_and_every_metric_gets_the_same() -> None:
    rng = np.random.default_rng(0)
    column = rng.random(30)
    twice = estimate({"x": column, "half": column / 2}, {"set": ["a"] * 30}, {}, BOOTSTRAP).metrics
    other = estimate({"x": column}, {"set": ["a"] * 30}, {}, Bootstrap(200, 0.95, seed=2)).metrics
    assert (other["x"].mean, other["x"].lo == twice["x"].lo) == (twice["x"].mean, False)
    np.testing.assert_allclose(
        [twice["half"].mean, twice["half"].lo, twice["half"].hi],
        [twice["x"].mean / 2, twice["x"].lo / 2, twice["x"].hi / 2],
        atol=1e-6,
    )

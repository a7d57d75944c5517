from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from faithline.world.draws import Draws


def test_equal_keys_draw_alike_and_different_keys_do_not() -> None:
    def numbers(*key: int | str) -> list[int]:
        draws = Draws(*key)
        return [draws.below(10**9) for _ in range(5)]

    assert numbers(7, "item", 3) == numbers(7, "item", 3)
    keys = [(7, "item", 3), (7, "item", 4), (8, "item", 3), (7, "source", 3), (7, "item3"), (7, "it", "em", 3)]
    assert len({tuple(numbers(*key)) for key in keys}) == len(keys)


def test_known_sequence() -> None:
    """Pinned: a change of these numbers changes every file that was ever generated."""
    draws = Draws(1, "pin")
    assert [draws.below(1000) for _ in range(6)] == [344, 833, 178, 859, 326, 413]


@given(st.integers(0, 10**6), st.integers(-50, 50), st.integers(0, 60))
def test_between_stays_inside(seed: int, low: int, width: int) -> None:
    assert low <= Draws(seed).between(low, low + width) <= low + width


@given(st.integers(0, 10**6), st.integers(1, 500), st.integers(0, 10**6))
def test_scaled_stays_inside(seed: int, low: int, width: int) -> None:
    assert low <= Draws(seed).scaled(low, low + width) <= low + width


@given(st.integers(0, 10**6), st.lists(st.integers(), max_size=20), st.integers(0, 25))
def test_sample_takes_different_places(seed: int, options: list[int], count: int) -> None:
    taken = Draws(seed).sample(options, count)
    assert len(taken) == min(count, len(options))
    assert not Counter(taken) - Counter(options)


@given(st.integers(0, 10**6), st.lists(st.integers(), max_size=20))
def test_shuffle_loses_nothing(seed: int, options: list[int]) -> None:
    assert sorted(Draws(seed).shuffled(options)) == sorted(options)


def test_shares_are_kept_and_zero_means_never() -> None:
    draws = Draws(5)
    counts = Counter(draws.weighted({"a": 0.5, "b": 0.0, "c": 0.3, "d": 0.2}) for _ in range(20_000))
    assert counts["b"] == 0
    assert abs(counts["a"] / 20_000 - 0.5) < 0.02
    assert abs(counts["c"] / 20_000 - 0.3) < 0.02

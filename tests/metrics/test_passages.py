"""Passage recall: hand-made cases and a brute-force reference."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from faithline.metrics.passages import recall_at_k

LISTS = pa.list_(pa.string())


def test_by_hand() -> None:
    shown = pa.array([["a", "b", "c"], ["x"], [], ["p", "q"], ["a"]], LISTS)
    gold = pa.array([["c", "d"], ["x"], ["y"], [], ["b"]], LISTS)
    np.testing.assert_array_equal(recall_at_k(shown, gold), [0.5, 1, 0, np.nan, 0])
    np.testing.assert_array_equal(recall_at_k(shown, gold, 2), [0, 1, 0, np.nan, 0])


def test_no_passages_at_all() -> None:
    assert np.isnan(recall_at_k(pa.array([[], []], LISTS), pa.array([[], []], LISTS))).all()


def test_slices_of_larger_tables() -> None:
    shown = pa.array([["z"], ["a", "b"], ["c"]], LISTS)[1:]
    gold = pa.array([["z"], ["b"], ["c", "d"]], LISTS)[1:]
    np.testing.assert_array_equal(recall_at_k(shown, gold), [1, 0.5])


IDS = st.lists(st.sampled_from("abcdef"), max_size=6)


@given(st.lists(st.tuples(IDS, IDS), min_size=1, max_size=8), st.one_of(st.none(), st.integers(1, 7)))
def test_against_sets(rows: list[tuple[list[str], list[str]]], k: int | None) -> None:
    expected = [len(set(s[:k]) & set(g)) / len(set(g)) if g else np.nan for s, g in rows]
    found = recall_at_k(pa.array([s for s, _ in rows], LISTS), pa.array([g for _, g in rows], LISTS), k)
    np.testing.assert_allclose(found, expected, rtol=1e-15)

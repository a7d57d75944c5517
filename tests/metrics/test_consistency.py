"""Majority over samples: hand-made votes, the tie rule, and a count one question at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithline.metrics.consistency import majority

NAN = float("nan")


def test_by_hand() -> None:
    found = majority(
        np.array([[1, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1], [NAN, NAN, NAN, NAN], [1, NAN, NAN, NAN], [1, 0, NAN, NAN]])
    )
    np.testing.assert_array_equal(found.consistent, [1, 0, 0, NAN, 1, 0])
    assert found.tied.tolist() == [False, True, False, False, False, True]
    assert found.failed.tolist() == [0, 0, 0, 4, 3, 2]


@given(st.lists(st.lists(st.sampled_from([0.0, 1.0, NAN]), min_size=8, max_size=8), min_size=1, max_size=6))
def test_against_counting_one_by_one(rows: list[list[float]]) -> None:
    found = majority(np.array(rows))
    for row, consistent, tied in zip(rows, found.consistent, found.tied, strict=True):
        yes, no = row.count(1.0), row.count(0.0)
        assert tied == (yes == no > 0)
        if yes + no == 0:
            assert np.isnan(consistent)
        else:
            assert consistent == float(yes > no)


@pytest.mark.parametrize("verdicts", [np.array([1.0, 0.0]), np.empty((3, 0)), np.array([[0.5]]), np.array([[2.0]])])
def test_what_is_no_table_of_verdicts_is_refused(verdicts: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"shape|1, 0 or NaN"):
        majority(verdicts)

"""When two answers are the same number: ours by hand and by fractions, the release's with its known consequences."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithline.rewards.comparator import Comparator, same

BOTH: list[Comparator] = ["canonical", "release"]


@pytest.mark.parametrize(
    ("left", "right", "canonical", "release"),
    [
        # Wanted by both.
        ("1,234", "1234", True, True),
        ("3.50", "3.5", True, True),
        ("12%", "12", True, True),
        ("-5", "-5.0", True, True),
        ("7", "8", False, False),
        # What the release takes for equal and should not.
        ("0.05", "0.09", False, True),
        ("50", "50.05", False, True),
        ("10k", "10", False, True),
        ("5W", "5w", False, True),
        ("Cannot answer", "Cannot answer", False, True),
        ("Paris", "Paris", False, True),
        ("10-20", "10-20", False, True),
        ("", "", False, True),
        # Its tolerance is below 0.1 and needs a point in one of the two.
        ("0.25", "0.5", False, False),
        ("50", "51", False, False),
        ("50", "50.5", False, False),
        ("1", "1.0625", False, True),
        ("2.5", "2.59375", False, True),
        # Equal to neither.
        ("1e3", "1000", False, False),
        ("50–59", "50", False, False),
        ("1/2", "0.5", False, False),
        ("12%", "0.12", False, False),
        ("fifty", "50", False, False),
        ("Cannot answer", "5", False, False),
        ("9" * 5000, "5.5", False, False),
        ("1" + "0" * 400, "5.5", False, False),
        # Ours reads what int and float do not, and the other way round.
        ("\u22125", "-5", True, False),
        ("1_000", "1000", False, True),
        ("1.0e3", "1000", False, True),
    ],
)
def test_by_hand(left: str, right: str, canonical: bool, release: bool) -> None:
    assert (same(left, right, "canonical"), same(right, left, "canonical")) == (canonical, canonical)
    assert (same(left, right, "release"), same(right, left, "release")) == (release, release)


@given(st.decimals(-(10**9), 10**9, places=3), st.decimals(-(10**9), 10**9, places=3), st.integers(-200, 200))
def test_canonical_is_equality_of_values(left: object, right: object, thousandths: int) -> None:
    a, b = Fraction(str(left)), Fraction(str(right))
    assert same(f"{left:,}", str(right), "canonical") == (a == b)
    assert same(str(left), f"{left}00%", "canonical")
    near = a + Fraction(thousandths, 1000)
    assert same(str(left), f"{float(near):.3f}", "canonical") == (thousandths == 0)


@given(st.integers(-(10**6), 10**6), st.integers(-400, 400).filter(lambda n: n % 100 != 0))
def test_release_is_a_tolerance(thousandths: int, difference: int) -> None:
    left, right = thousandths / 1000, (thousandths + difference) / 1000
    assert same(f"{left:.3f}", f"{right:.3f}", "release") == (abs(difference) < 100)


@given(st.text(max_size=8), st.text(max_size=8))
def test_symmetric_on_any_text(left: str, right: str) -> None:
    for comparator in BOTH:
        assert same(left, right, comparator) == same(right, left, comparator)

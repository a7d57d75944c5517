from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithline.cluster.quantities import cores, gibibytes, number


@pytest.mark.parametrize(
    ("text", "value"),
    [("500m", 0.5), ("2", 2.0), ("1e3", 1000.0), ("1.5k", 1500.0), (3, 3.0), ("64Ki", 65536.0), ("1E2", 100.0)],
)
def test_number(text: object, value: float) -> None:
    assert number(text) == pytest.approx(value)


def test_units() -> None:
    assert cores("250m") == 0.25
    assert gibibytes("512Mi") == 0.5
    assert gibibytes("8G") == pytest.approx(7.450580596923828)  # 8e9 / 2**30


@given(st.integers(0, 10**6))
def test_gib_round_trip(gib: int) -> None:
    assert gibibytes(f"{gib}Gi") == gib
    assert gibibytes(f"{gib * 1024}Mi") == gib


@pytest.mark.parametrize("text", ["", "Gi", "8 Gi", "8GiB", "-1", "1.2.3", "nan", None])
def test_what_is_no_quantity(text: object) -> None:
    with pytest.raises(ValueError, match="no Kubernetes quantity"):
        number(text)

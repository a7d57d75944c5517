"""Spans against slicing, one by one."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from faithline.data.spans import matches

TEXTS = st.text(st.sampled_from("ab🌧é"), max_size=6)


@st.composite
def spans(draw: st.DrawFn) -> tuple[list[str], list[tuple[int, int, int, str]]]:
    texts = draw(st.lists(TEXTS, min_size=1, max_size=4))
    rows = []
    for _ in range(draw(st.integers(0, 8))):
        owner = draw(st.integers(0, len(texts) - 1))
        start, end = draw(st.integers(-2, 8)), draw(st.integers(-2, 8))
        quote = texts[owner][max(start, 0) : max(end, 0)] if draw(st.booleans()) else draw(TEXTS)
        rows.append((owner, start, end, quote))
    return texts, rows


@given(spans())
def test_matches_equals_slicing(case: tuple[list[str], list[tuple[int, int, int, str]]]) -> None:
    texts, rows = case
    expected = [
        0 <= start < end <= len(texts[owner]) and texts[owner][start:end] == quote for owner, start, end, quote in rows
    ]
    columns = [[row[place] for row in rows] for place in range(4)]
    found = matches(
        pa.array(texts, pa.string()),
        pa.array(columns[0], pa.int64()),
        pa.array(columns[1], pa.int32()),
        pa.array(columns[2], pa.int32()),
        pa.array(columns[3], pa.string()),
    )
    assert found.tolist() == expected

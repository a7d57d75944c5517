"""Histograms, repeated keys, scratch files: against NumPy and brute force."""

from __future__ import annotations

from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithline.noise import histogram
from faithline.noise import spool as spool_module
from faithline.noise.groups import repeated
from faithline.noise.histogram import Histogram, Ratios, summary
from faithline.noise.spool import Spool
from faithline.noise.stream import in_order

QUANTILES = [0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 0.999, 1.0]
NAMES = ["q00", "q05", "q25", "q50", "q75", "q95", "q99.9", "q100"]
parts = st.lists(st.lists(st.integers(0, 50), max_size=20), min_size=1, max_size=5)


@given(parts)
def test_summary_is_that_of_all_values(values: list[list[int]]) -> None:
    counts = Histogram()
    for part in values:
        counts.add(np.array(part, dtype=np.int64))
    every = [value for part in values for value in part]
    found = summary(counts.table(), QUANTILES)
    if not every:
        assert found == dict.fromkeys(["avg", "max", "min", *NAMES])
        return
    assert (found["avg"], found["min"], found["max"]) == (sum(every) / len(every), min(every), max(every))
    assert [found[name] for name in NAMES] == np.quantile(every, QUANTILES, method="inverted_cdf").tolist()


def test_quantile_by_hand() -> None:
    counts = Histogram()
    counts.add(np.array([10, 1, 3, 3, 100]))
    assert summary(counts.table(), [0.2, 0.21, 0.8]) == {
        "avg": 23.4, "max": 100, "min": 1, "q20": 1, "q21": 3, "q80": 10,
    }  # fmt: skip


def test_merging_and_settling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histogram, "_PENDING", 3)
    one, other, whole = Histogram(), Histogram(), Histogram()
    for value in range(10):
        one.add(np.array([value % 4]))
        other.add(np.array([value]))
    whole.add_all(one)
    whole.add_all(other)
    values, counts = whole.table()
    assert dict(zip(values.tolist(), counts.tolist(), strict=True)) == Counter(
        [v % 4 for v in range(10)] + list(range(10))
    )


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=40))
def test_ratios(pairs: list[tuple[int, int]]) -> None:
    ratios = Ratios()
    ratios.add(np.array([p for p, _ in pairs], dtype=np.int64), np.array([w for _, w in pairs], dtype=np.int64))
    found = ratios.summary([0.5])
    exact = sorted(Fraction(part, whole) for part, whole in pairs if whole)
    if not exact:
        assert found["avg"] is None
        return
    assert found["avg"] == pytest.approx(float(sum(exact) / len(exact)))
    assert found["q50"] == float(exact[(len(exact) + 1) // 2 - 1])


@given(st.lists(st.integers(0, 9), max_size=40))
def test_repeated_keys(values: list[int]) -> None:
    # Spread over the whole range as hashes are; some share the bits that the first sieve looks at.
    keys = np.array([value * 0x9E3779B97F4A7C15 % 2**64 if value < 7 else value for value in values], dtype=np.uint64)
    groups = repeated(keys)
    expected: defaultdict[int, list[int]] = defaultdict(list)
    for row, key in enumerate(keys.tolist()):
        expected[key].append(row)
    ends = [*groups.starts.tolist()[1:], len(groups.rows)]
    found = [
        groups.rows[start:end].tolist()
        for start, end in zip(groups.starts.tolist(), ends, strict=bool(len(groups.starts)))
    ]
    assert sorted(found) == sorted(rows for rows in expected.values() if len(rows) > 1)
    assert len(groups.owners()) == len(groups.rows)


def test_spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_module, "_BLOCK_ROWS", 4)
    spool = Spool(tmp_path / "rows", np.uint16, 3)
    rows = np.arange(30, dtype=np.uint16).reshape(10, 3)
    spool.append(rows[:4])
    spool.append(rows[4:])
    spool.close()
    assert (np.concatenate(list(spool.parts(4))) == rows).all()
    assert (spool.part(8, 100) == rows[8:]).all()
    assert (spool.take(np.array([9, 0, 5, 9])) == rows[[9, 0, 5, 9]]).all()
    assert spool.take(np.array([], dtype=np.int64)).shape == (0, 3)


def test_work_comes_back_in_order_and_errors_surface() -> None:
    def work(item: int) -> int:
        if item == 20:
            raise ValueError("twenty")
        return -item

    with ThreadPoolExecutor(3) as pool:
        assert list(in_order(pool, work, range(10), 4)) == [(n, -n) for n in range(10)]
        with pytest.raises(ValueError, match="twenty"):
            list(in_order(pool, work, range(40), 4))

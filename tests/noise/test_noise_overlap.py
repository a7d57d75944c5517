"""Near-duplicates and shared runs against comparing every pair."""

from __future__ import annotations

import random
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithline.noise import near_duplicates
from faithline.noise.near_duplicates import Duplicates, NearDuplicateFinder
from faithline.noise.overlap import GramSpool, Items, equal_keys, window_for
from faithline.noise.text.minhash import estimates, signatures
from faithline.noise.text.ngrams import Runs
from faithline.noise.text.tokens import tokenise


def documents(seed: int) -> list[str]:
    """Families of documents whose members differ in a few words."""
    rng = random.Random(seed)
    words = [f"w{number}" for number in range(3000)]
    found = []
    for _ in range(60):
        base = rng.choices(words, k=rng.randrange(5, 120))
        for _ in range(rng.randrange(1, 6)):
            copy = list(base)
            for _ in range(rng.randrange(0, 4)):
                copy[rng.randrange(len(copy))] = rng.choice(words)
            found.append(" ".join(copy))
    rng.shuffle(found)
    return found


def find(texts: list[str], folder: Path, sort_bytes: int, cut: int = 50) -> Duplicates:
    folder.mkdir()
    finder = NearDuplicateFinder(folder, "s", 64, 0.8, sort_bytes)
    for start in range(0, len(texts), cut):
        some = texts[start : start + cut]
        rows = np.arange(start, start + len(some)) * 2 + 7  # row numbers need not be positions
        finder.add(signatures(Runs.of(tokenise(pa.array(some))), 3, 64), rows)
    return finder.find()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_near_duplicates_are_those_of_all_pairs(tmp_path: Path, seed: int) -> None:
    texts = documents(seed)
    found = find(texts, tmp_path / "a", 1 << 24)
    every = signatures(Runs.of(tokenise(pa.array(texts))), 3, 64)
    similar = {
        later: max(float(estimates(every[first : first + 1], every[later : later + 1])[0]) for first in range(later))
        for later in range(1, len(texts))
    }
    expected = {row for row, jaccard in similar.items() if jaccard >= 0.8}
    flagged = {(row - 7) // 2 for row in found.rows.tolist()}
    assert flagged <= expected
    # Bands find 99.98 % of pairs at 0.8; comparing with two members of a band may miss where families blur.
    assert len(flagged) >= 0.97 * len(expected)
    assert len(flagged) > 50
    assert (np.diff(found.rows) > 0).all()
    for row, earlier, jaccard in zip(found.rows, found.earlier, found.jaccard, strict=True):
        assert earlier < row
        one, other = (int(place - 7) // 2 for place in (row, earlier))
        assert jaccard == estimates(every[one : one + 1], every[other : other + 1])[0] >= 0.8


def test_memory_for_sorting_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = documents(4)
    whole = find(texts, tmp_path / "a", 1 << 24)
    monkeypatch.setattr(near_duplicates, "_READ_ROWS", 17)
    monkeypatch.setattr(near_duplicates, "_PAIRS", 5)
    for sort_bytes in (24 * 300, 1000, 100):
        assert {*find(texts, tmp_path / str(sort_bytes), sort_bytes, 11).rows} == {*whole.rows}


def test_no_documents(tmp_path: Path) -> None:
    assert len(find([], tmp_path / "a", 1 << 20).rows) == 0
    assert len(find(["only one"], tmp_path / "b", 1 << 20).rows) == 0


items = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 7), st.sets(st.integers(0, 12), max_size=4)), max_size=25)


def own(rows: list[tuple[int, int, set[int]]]) -> list[int]:
    return [(1 << set_code) if splits & 6 and splits & 1 else 0 for set_code, splits, _ in rows]


def brute(rows: list[tuple[int, int, set[int]]]) -> list[int]:
    """For every item of evaluation data, the sets (bits) whose training items share a key; its own if it is in both."""
    met = own(rows)
    for (left, (set_a, splits_a, keys_a)), (right, (set_b, splits_b, keys_b)) in combinations(enumerate(rows), 2):
        if keys_a & keys_b:
            met[left] |= (1 << set_b) if splits_a & 6 and splits_b & 1 else 0
            met[right] |= (1 << set_a) if splits_b & 6 and splits_a & 1 else 0
    return met


@given(items)
def test_shared_keys_are_those_of_all_pairs(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int, set[int]]]
) -> None:
    found = Items(np.array([r[0] for r in rows], dtype=np.uint8), np.array([r[1] for r in rows], dtype=np.uint8))
    owners = np.array([index for index, row in enumerate(rows) for _ in row[2]], dtype=np.int64)
    keys = np.array([key * 0x9E3779B97F4A7C15 % 2**64 for row in rows for key in row[2]], dtype=np.uint64)
    for sort_bytes in (1 << 24, 300):
        spool = GramSpool(tmp_path_factory.mktemp("grams"), "g", len(keys), sort_bytes)
        spool.add(keys, owners)
        assert spool.rows == len(keys)
        assert spool.shared(found, np.array(own(rows), dtype=np.uint64)).tolist() == brute(rows)


def test_equal_keys_and_an_item_of_both_splits() -> None:
    found = Items(np.array([0, 1, 0, 2], dtype=np.uint8), np.array([1, 2, 5, 4], dtype=np.uint8))
    keys = np.array([9, 9, 8, 7], dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    assert equal_keys(found, keys).tolist() == [0, 0b1, 0b1, 0]


@pytest.mark.parametrize(
    ("text_bytes", "most", "window"),
    [(0, 10, 1), (6000, 1000, 1), (6600, 1000, 2), (60_000, 1000, 19), (6 * 10**8, 3 * 10**7, 6)],
)
def test_window_keeps_to_the_number_of_hashes(text_bytes: int, most: int, window: int) -> None:
    assert window_for(text_bytes, most) == window
    assert window == 1 or 2 / (window + 1) * text_bytes / 6 <= most * 1.2

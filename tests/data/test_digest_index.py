"""The digest index against a plain dict, and the documents' ids against their written rule."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithline.data.digest_index import DigestIndex
from faithline.data.document_store import DocumentStore, document_digests
from faithline.pipeline.errors import DataInvalid

pairs = st.lists(
    st.tuples(st.sampled_from([0, 1, 2, 5, 2**63, 2**64 - 1]) | st.integers(0, 2**64 - 1), st.integers(0, 2))
)


@given(st.lists(pairs, max_size=8))
def test_equals_a_dict(calls: list[list[tuple[int, int]]]) -> None:
    index, model = DigestIndex(), {}
    for call in calls:
        expected_fresh, expected_equal = [], []
        for key, check in call:
            expected_fresh.append(key not in model)
            expected_equal.append(model.setdefault(key, check) == check)
        fresh, equal = index.add(
            np.array([key for key, _ in call], dtype=np.uint64), np.array([check for _, check in call], dtype=np.uint64)
        )
        assert fresh.tolist() == expected_fresh
        assert equal.tolist() == expected_equal
        assert len(index) == len(model)


def test_memory_per_entry_and_number_of_runs() -> None:
    index = DigestIndex()
    random = np.random.default_rng(0)
    for _ in range(200):
        keys = random.integers(0, 2**63, 500).astype(np.uint64)
        index.add(keys, keys)
    runs = index._runs
    assert sum(keys.nbytes + checks.nbytes for keys, checks in runs) == 16 * len(index)
    assert len(runs) <= 20  # log2 of 200 batches, and room: a look-up searches each run


def test_document_ids_by_the_written_rule() -> None:
    titles, texts = ["Ada", "Ada", "Ada", ""], ["first", "second", "first", "näme"]
    store = DocumentStore("musique")
    digests = document_digests(titles, texts)
    rows = store.add(digests, titles, texts)
    expected = [
        "musique/" + hashlib.sha256(f"{title}\0{text}".encode()).hexdigest()[:16]
        for title, text in zip(titles, texts, strict=True)
    ]
    assert store.ids(digests).to_pylist() == expected
    assert rows["document_id"].to_pylist() == [expected[0], expected[1], expected[3]]
    assert rows["text"].to_pylist() == ["first", "second", "näme"]
    assert store.add(digests, titles, texts).num_rows == 0
    assert len(store) == 3


def test_an_id_shared_by_two_documents_is_an_error() -> None:
    store = DocumentStore("s")
    store.add(np.array([[7, 1]], dtype=np.uint64), ["a"], ["b"])
    with pytest.raises(DataInvalid, match="s/0000000000000007"):
        store.add(np.array([[7, 2]], dtype=np.uint64), ["c"], ["d"])

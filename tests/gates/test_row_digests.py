"""Digests of whole columns: equal exactly for equal strings, however the column is cut."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from faithline.gates.row_digests import DocumentKeys, digests

STRINGS = st.lists(st.text(st.sampled_from("ab\0é🌧 "), max_size=20), min_size=1, max_size=30)


@given(STRINGS)
def test_digests_are_equal_exactly_for_equal_strings(strings: list[str]) -> None:
    found = [tuple(row) for row in digests(pa.array(strings))]
    assert len(set(found)) == len(set(strings))
    assert len({(text, digest) for text, digest in zip(strings, found, strict=True)}) == len(set(strings))


@given(STRINGS, st.data())
def test_digests_do_not_depend_on_chunks_or_slices(strings: list[str], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(strings)))
    whole = digests(pa.array(strings))
    padded = pa.array(["x", *strings, "yy"])
    chunks = pa.chunked_array([padded.slice(1, cut), padded.slice(1 + cut, len(strings) - cut)])
    assert np.array_equal(digests(chunks), whole)


def test_structured_ids_do_not_collide() -> None:
    # Ids that differ in one digit, the hard case of a weak hash; 200,000 random words collide with probability 1e-9.
    ids = [f"hotpotqa/{number:016x}" for number in range(100_000)]
    ids += [f"hotpotqa/{number << 44:016x}" for number in range(1, 100_001)]
    found = digests(pa.array(ids))
    for word in range(2):
        assert len(np.unique(found[:, word])) == len(ids)
    # Every bit of a word is set in about half of them.
    bits = np.unpackbits(found[:, 0].copy().view(np.uint8)).reshape(len(ids), 64).mean(axis=0)
    assert np.abs(bits - 0.5).max() < 0.01


def test_digest_of_a_string_never_changes() -> None:
    # Accepted snapshots hold sums of these: another value here means that every snapshot must be accepted anew.
    assert digests(pa.array(["hotpotqa/5a8b57f25542995d1e6f1371"])).tolist() == [
        [8135686392127011447, 15524398877295514407]
    ]


def test_empty_column() -> None:
    assert digests(pa.array([], pa.string())).shape == (0, 2)


def test_document_keys_know_what_was_added() -> None:
    keys = DocumentKeys()
    assert not keys.contains(digests(pa.array(["a"]))[:, 0]).any()
    for batch in (["a", "b"], ["c"], ["d", "e", "f", "a"]):
        words = digests(pa.array(batch))
        keys.add(words[:, 0], words[:, 1])
    asked = digests(pa.array(["f", "x", "a", "", "c"]))[:, 0]
    assert keys.contains(asked).tolist() == [True, False, True, False, True]

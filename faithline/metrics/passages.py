"""Recall of gold passages among the passages shown, by passage identity.

A passage is its document id (a hash of title and text), never its title: in MuSiQue's 500 development questions 14 % of
the passages share a title with another one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["members", "recall_at_k"]


def recall_at_k(shown: pa.Array, gold: pa.Array, k: int | None = None) -> npt.NDArray[np.float64]:
    """Share of each question's gold passages among the first k passages shown: |first k ∩ gold| / |gold|.

    Args:
        shown: list<string>, document ids in rank order, one list per question.
        gold: list<string>, document ids of the gold passages; repeats count once.
        k: How many of the shown passages count; None = all.

    Returns:
        Shape (len(gold),); NaN where a question has no gold passage.
    """
    if k is not None:
        shown = pc.list_slice(shown, 0, k)
    shown_pairs, gold_pairs, width = _pairs(shown, gold)
    wanted = np.unique(gold_pairs)
    hit = np.isin(wanted, shown_pairs)
    found = np.bincount(wanted[hit] // width, minlength=len(gold))
    total = np.bincount(wanted // width, minlength=len(gold))
    recall = np.full(len(gold), np.nan)
    np.divide(found, total, out=recall, where=total > 0)
    return recall


def members(shown: pa.Array, gold: pa.Array) -> npt.NDArray[np.bool_]:
    """Tell of each passage shown whether it is gold for its question.

    Args:
        shown: list<string>, document ids, one list per question.
        gold: list<string>, document ids of the gold passages, one list per question.

    Returns:
        One flag per passage of all lists in a row.
    """
    shown_pairs, gold_pairs, _ = _pairs(shown, gold)
    return np.isin(shown_pairs, gold_pairs)


def _pairs(shown: pa.Array, gold: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], int]:
    """Number every (question, passage), so that sets of pairs are sets of numbers; divide by the third for the row."""
    shown_ids, gold_ids = pc.list_flatten(shown), pc.list_flatten(gold)
    encoded = pa.concat_arrays([shown_ids, gold_ids]).dictionary_encode()
    rows = np.concatenate([np.asarray(pc.list_parent_indices(lists), dtype=np.int64) for lists in (shown, gold)])
    width = max(len(encoded.dictionary), 1)
    pairs = rows * width + np.asarray(encoded.indices, dtype=np.int64)
    return pairs[: len(shown_ids)], pairs[len(shown_ids) :], width

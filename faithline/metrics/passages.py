"""Recall of gold passages among the passages shown, by passage identity.

A passage is its document id (a hash of title and text), never its title: in MuSiQue's 500 development questions 14 % of
the passages share a title with another one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["recall_at_k"]


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
    shown_ids, gold_ids = pc.list_flatten(shown), pc.list_flatten(gold)
    encoded = pa.concat_arrays([shown_ids, gold_ids]).dictionary_encode()
    rows = np.concatenate([np.asarray(pc.list_parent_indices(lists), dtype=np.int64) for lists in (shown, gold)])
    # One number per (question, passage), so that sets of pairs are sets of numbers.
    width = max(len(encoded.dictionary), 1)
    pairs = rows * width + np.asarray(encoded.indices, dtype=np.int64)
    wanted = np.unique(pairs[len(shown_ids) :])
    hit = np.isin(wanted, pairs[: len(shown_ids)])
    found = np.bincount(wanted[hit] // width, minlength=len(gold))
    total = np.bincount(wanted // width, minlength=len(gold))
    recall = np.full(len(gold), np.nan)
    np.divide(found, total, out=recall, where=total > 0)
    return recall

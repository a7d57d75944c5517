"""Which questions have what a consumer needs, told from whole columns; texts are looked at only for what was drawn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from components.compose_training.draws import Flags
from components.compose_training.number_pairs import DATE_RELATIONS

__all__ = ["all_rows", "has_documents", "has_no_number", "has_number", "has_numeric_step", "has_plan", "is_labelled"]

_NUMBER = r"[+\-−]?([1-9][0-9]{0,2}(,[0-9]{3})+|[0-9]+)(\.[0-9]+)?%?"
_NUMERIC = rf"^\s*{_NUMBER}\s*$"
_NUMERIC_STEP = rf" >>>> *{_NUMBER}\s*$| ({'|'.join(DATE_RELATIONS)}) .*\b[12][0-9]{{3}}\b"


def all_rows(rows: pa.RecordBatch) -> Flags:
    """Every question."""
    return np.ones(rows.num_rows, dtype=np.bool_)


def has_documents(rows: pa.RecordBatch) -> Flags:
    """Questions with documents."""
    return np.asarray(pc.greater(pc.list_value_length(rows.column("documents")), 0), dtype=np.bool_)


def has_plan(rows: pa.RecordBatch) -> Flags:
    """Questions with annotated steps."""
    return np.asarray(pc.greater(pc.list_value_length(rows.column("plan")), 0), dtype=np.bool_)


def is_labelled(rows: pa.RecordBatch) -> Flags:
    """Questions with documents, and either an answer or the knowledge that there is none."""
    return has_documents(rows) & (_answered(rows) | ~_answerable(rows))


def has_number(rows: pa.RecordBatch) -> Flags:
    """Answered questions with documents of which the answer or a step's answer is a number."""
    numeric = _first_answer(rows, lambda texts: pc.match_substring_regex(texts, _NUMERIC))
    return has_documents(rows) & _answered(rows) & (numeric | _numeric_step(rows))


def has_numeric_step(rows: pa.RecordBatch) -> Flags:
    """As `has_number`, and unanswerable questions with a step whose answer is a number."""
    return has_number(rows) | (has_documents(rows) & ~_answerable(rows) & _numeric_step(rows))


def has_no_number(rows: pa.RecordBatch) -> Flags:
    """Answered questions with documents of which neither the answer nor a step's answer is a number."""
    digits = _first_answer(rows, lambda texts: pc.match_substring_regex(texts, "[0-9]"))
    return has_documents(rows) & _answered(rows) & ~digits & ~_numeric_step(rows)


def _answerable(rows: pa.RecordBatch) -> Flags:
    return np.asarray(rows.column("answerable"), dtype=np.bool_)


def _answered(rows: pa.RecordBatch) -> Flags:
    return _answerable(rows) & _first_answer(rows, lambda texts: pc.match_substring_regex(texts, r"[^\s*]"))


def _numeric_step(rows: pa.RecordBatch) -> Flags:
    return _any_item(rows.column("plan"), lambda texts: pc.match_substring_regex(texts, _NUMERIC_STEP))


def _first_answer(rows: pa.RecordBatch, test: Callable[[pa.Array], pa.Array]) -> Flags:
    return _any_item(pc.list_slice(rows.column("answers"), 0, 1), test)


def _any_item(lists: pa.Array, test: Callable[[pa.Array], pa.Array]) -> Flags:
    """Which lists have an item that passes a test."""
    passed = np.zeros(len(lists), dtype=np.bool_)
    owners = np.asarray(pc.list_parent_indices(lists), dtype=np.int64)
    passed[owners[np.asarray(test(pc.list_flatten(lists)), dtype=np.bool_)]] = True
    return passed

"""Noise of span labels on responses: spans that point elsewhere than at their text, and what annotators doubted."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from faithline.data.spans import matches
from faithline.noise.findings import Json, finding

__all__ = ["LabelNoise"]


class LabelNoise:
    """Running counts over responses and their spans."""

    def __init__(self, examples: int) -> None:
        self._limit = examples
        self._responses = 0
        self._labelled = 0
        self._spans = 0
        self._outside = 0
        self._mismatched = 0
        self._due_to_null = 0
        self._implicit_true = 0
        self._examples: list[str] = []

    def add(self, ids: pa.Array, responses: pa.Array, labels: pa.Array) -> None:
        """Count a batch.

        Args:
            ids: Of the responses, shape (n,).
            responses: Their texts.
            labels: A list of spans each, as in the responses table.
        """
        self._responses += len(responses)
        self._labelled += int(np.count_nonzero(np.asarray(pc.list_value_length(labels))))
        spans, owners = pc.list_flatten(labels), np.asarray(pc.list_parent_indices(labels), dtype=np.int64)
        if not len(spans):
            return
        start, end, text, implicit, null = (
            pc.struct_field(spans, name) for name in ("start", "end", "text", "implicit_true", "due_to_null")
        )
        lengths = np.asarray(pc.utf8_length(responses), dtype=np.int64)[owners]
        first, last = np.asarray(start), np.asarray(end)
        outside = (first < 0) | (first >= last) | (last > lengths)
        wrong = ~matches(responses, pa.array(owners), start, end, text)
        self._spans += len(spans)
        self._outside += int(outside.sum())
        self._mismatched += int((wrong & ~outside).sum())
        self._implicit_true += pc.sum(implicit).as_py() or 0
        self._due_to_null += pc.sum(null).as_py() or 0
        rows = np.unique(owners[wrong])[: self._limit - len(self._examples)]
        self._examples.extend(ids.take(pa.array(rows)).to_pylist())

    def report(self) -> Json:
        """Return counts and shares of spans; responses with a span, of responses."""
        return {
            "spans": self._spans,
            "labelled_responses": finding(self._labelled, self._responses),
            "wrong_offsets": finding(self._outside + self._mismatched, self._spans, self._examples)
            | {"outside_the_response": self._outside, "other_text": self._mismatched},
            "due_to_null": finding(self._due_to_null, self._spans),
            "implicit_true": finding(self._implicit_true, self._spans),
        }

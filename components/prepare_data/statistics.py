"""Counts of one set, gathered from its table batches while they stream by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["SetCounts"]


class SetCounts:
    """Running counts of one set."""

    def __init__(self) -> None:
        self.rows: Counter[str] = Counter()
        """Rows per table."""
        self.splits: Counter[str] = Counter()
        """Questions, claims or responses per split."""
        self._answerable = 0
        self._shown = 0
        self._flagged = 0
        self._supporting = 0

    def add(self, tables: Mapping[str, pa.Table]) -> None:
        """Count a batch: table name to rows."""
        for name, rows in tables.items():
            self.rows[name] += rows.num_rows
            if "split" in rows.column_names:
                for entry in rows["split"].value_counts().to_pylist():
                    self.splits[entry["values"]] += entry["counts"]
        if "questions" in tables:
            self._add_questions(tables["questions"])

    def _add_questions(self, questions: pa.Table) -> None:
        self._answerable += pc.sum(questions["answerable"]).as_py() or 0
        lists = questions["supporting"].combine_chunks()
        flags, parents = pc.list_flatten(lists), pc.list_parent_indices(lists)
        self._shown += len(flags)
        # Only questions with every flag known count towards the ratio; of a half-known one the share is not defined.
        unknown = pc.unique(parents.filter(pc.is_null(flags)))
        known = pc.invert(pc.is_in(parents, value_set=unknown))
        self._flagged += pc.sum(known).as_py() or 0
        self._supporting += pc.sum(flags.filter(known)).as_py() or 0

    def metrics(self) -> dict[str, float | int]:
        """Rows per table and, for questions, the shares of MARCH's Table 1 by our definition (systems.md 1.7)."""
        found: dict[str, float | int] = {table: count for table, count in sorted(self.rows.items()) if count}
        questions = self.rows["questions"]
        if questions:
            found["answerable_share"] = self._answerable / questions
            found["documents_per_question_mean"] = self._shown / questions
        if self._flagged:
            # Micro average: 1 - gold documents / documents. The paper's 24.4 % for 2Wiki is the relevant share.
            found["irrelevant_document_ratio"] = 1.0 - self._supporting / self._flagged
        return found

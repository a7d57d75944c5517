"""No training row may share a question with evaluation data.

The guard remembers every question of split test, from which all evaluation subsets are drawn: its id and its text
without case, punctuation and spacing, 16 bytes a question. A training question that meets one of them ends the run or
is left out before anything is drawn, as the settings say.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from components.compose_training.hashes import find
from faithline.data.schema import file_name
from faithline.noise.stream import Batch, stream
from faithline.noise.text.hashing import hash_strings
from faithline.pipeline.errors import DataInvalid

__all__ = ["Guard"]

_COLUMNS = ("question_id", "split", "question")


class Guard:
    """Knows the questions of split test."""

    def __init__(self, prepared: Path, rule: Literal["fail", "leave_out"]) -> None:
        """Read them.

        Args:
            prepared: The folder data/prepared.
            rule: What a shared question does.

        Raises:
            DataInvalid: If the table is missing or corrupt.
        """
        ids, texts = [np.zeros(0, dtype=np.uint64)], [np.zeros(0, dtype=np.uint64)]
        for batch in stream(prepared, "questions", _COLUMNS, "question"):
            rows = batch.rows.filter(pc.equal(batch.rows.column("split"), "test"))
            ids.append(hash_strings(rows.column("question_id")))
            texts.append(hash_strings(_plain(rows.column("question"))))
        self._ids, self._texts = np.unique(np.concatenate(ids)), np.unique(np.concatenate(texts))
        self._prepared, self._rule = prepared, rule

    def shared(self, ids: pa.Array, questions: pa.Array) -> npt.NDArray[np.bool_]:
        """Say which questions are asked in split test as well, shape (n,).

        Args:
            ids: Their ids.
            questions: Their texts.
        """
        return find(hash_strings(ids), self._ids)[1] | find(hash_strings(_plain(questions)), self._texts)[1]

    def admit(self, batch: Batch, left_out: Counter[str]) -> pa.RecordBatch:
        """Return the questions of a batch that training may see: not of split test, nor asked there.

        Args:
            batch: Rows of the questions table.
            left_out: Counts by set what the rule left out.

        Raises:
            DataInvalid: If a question of another split is shared and the rule says fail.
        """
        rows = batch.rows.filter(pc.not_equal(batch.rows.column("split"), "test"))
        return self.without_shared(rows, batch.set_name, left_out)

    def without_shared(self, rows: pa.RecordBatch, set_name: str, left_out: Counter[str]) -> pa.RecordBatch:
        """Return rows that are to be trained on but for those with a question of split test; raises as `admit`.

        Args:
            rows: With columns question_id, split and question.
            set_name: The set of all of them.
            left_out: Counts by set what the rule left out.
        """
        shared = self.shared(rows.column("question_id"), rows.column("question"))
        if not shared.any():
            return rows
        if self._rule == "fail":
            first = int(np.flatnonzero(shared)[0])
            question_id, split, question = (
                rows.column(name)[first].as_py() for name in ("question_id", "split", "question")
            )
            raise self._refusal(question_id, split, question)
        left_out[set_name] += int(shared.sum())
        return rows.filter(pa.array(~shared))

    def _refusal(self, question_id: str, split: str, question: str) -> DataInvalid:
        twin = self._twin(question_id, question)
        return DataInvalid(
            f"question {question_id} of split {split} is asked in split test as well, as {twin}: {question[:200]!r}",
            where=str(self._prepared / file_name("questions")),
            next_step="remove it from one of the sources, or set compose_training.shared_questions: leave_out",
        )

    def _twin(self, question_id: str, question: str) -> str:
        """Id of the test question with this text or id; a second pass, for only hashes are remembered."""
        plain = _plain(pa.array([question]))[0]
        for batch in stream(self._prepared, "questions", _COLUMNS, "question"):
            same = pc.or_(
                pc.equal(_plain(batch.rows.column("question")), plain),
                pc.equal(batch.rows.column("question_id"), question_id),
            )
            met = batch.rows.filter(pc.and_(same, pc.equal(batch.rows.column("split"), "test")))
            if met.num_rows:
                return str(met.column("question_id")[0].as_py())
        return question_id


def _plain(texts: pa.Array) -> pa.Array:
    """Leave out case, punctuation and spacing; a text of nothing else stays as it is."""
    spaced = pc.replace_substring_regex(pc.utf8_lower(texts), r"[\s\p{P}]+", " ")
    trimmed = pc.utf8_trim_whitespace(spaced)
    return pc.if_else(pc.equal(trimmed, ""), texts, trimmed)

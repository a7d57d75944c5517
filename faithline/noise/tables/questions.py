"""The pass over the questions table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from faithline.data.schema import SPLITS
from faithline.noise.findings import Json, TextFindings, finding
from faithline.noise.golds import Golds
from faithline.noise.lengths import ALL, Lengths, evidence_of
from faithline.noise.set_codes import SetCodes
from faithline.noise.settings import Noise
from faithline.noise.stream import Batch, stream
from faithline.noise.tables.asked import Asked, LongAnswers, split_codes
from faithline.noise.tables.document_index import DocumentIndex
from faithline.noise.text.reader import TextReader

__all__ = ["Questions"]

_COLUMNS = ("question_id", "split", "question", "answers", "answerable", "documents", "supporting")


class _SetQuestions:
    """Running counts of one set."""

    def __init__(self, settings: Noise) -> None:
        self.findings = TextFindings(settings.examples)
        self.lengths = [Lengths() for _ in SPLITS]
        self.unanswerable = np.zeros(len(SPLITS), dtype=np.int64)
        self.without_answer = np.zeros(len(SPLITS), dtype=np.int64)


class Questions:
    """Figures of all questions."""

    def __init__(self, settings: Noise, sets: SetCodes) -> None:
        self.golds = Golds()
        self._settings = settings
        self._sets = sets
        self._reader = TextReader(settings, window=1, with_signatures=False)
        self._counts: defaultdict[str, _SetQuestions] = defaultdict(lambda: _SetQuestions(settings))

    def run(
        self,
        prepared: Path,
        index: DocumentIndex,
        asked: Asked,
        long_answers: LongAnswers,
        on_rows: Callable[[int], None],
    ) -> None:
        """Read the table; what may leak goes to `asked` and `long_answers`."""
        for batch in stream(prepared, "questions", _COLUMNS, "question"):
            self._add(batch, index, asked, long_answers)
            on_rows(batch.rows.num_rows)

    def _add(self, batch: Batch, index: DocumentIndex, asked: Asked, long_answers: LongAnswers) -> None:
        rows, code = batch.rows, self._sets.code(batch.set_name)
        facts = self._reader.read(rows.column("question"))
        splits = split_codes(rows, "questions")
        asked.add(facts, code, splits)
        answers = rows.column("answers")
        owners = np.asarray(pc.list_parent_indices(answers), dtype=np.int64)
        keys = long_answers.add(pc.list_flatten(answers), owners, code, splits)
        self.golds.add(facts.keys, keys, np.asarray(pc.list_value_length(answers), dtype=np.int64))
        evidence = evidence_of(rows.column("documents"), rows.column("supporting"), index, splits)
        counts = self._counts[batch.set_name]
        counts.findings.add(facts, rows.column("question_id"))
        unanswerable = ~np.asarray(rows.column("answerable"), dtype=np.bool_)
        without = np.asarray(pc.list_value_length(answers)) == 0
        counts.unanswerable += np.bincount(splits[unanswerable], minlength=len(SPLITS))
        counts.without_answer += np.bincount(splits[without], minlength=len(SPLITS))
        for split in np.unique(splits):
            counts.lengths[split].add(facts.words, evidence, splits == split)

    def count(self, name: str) -> int:
        """Return the number of questions of a set."""
        return self._counts[name].findings.texts

    def report(self) -> dict[str, Json]:
        """Return each set's figures."""
        return {name: self._set_report(counts) for name, counts in sorted(self._counts.items())}

    def _set_report(self, counts: _SetQuestions) -> Json:
        every = [*counts.lengths, Lengths.together(counts.lengths)]
        unanswerable = [*counts.unanswerable.tolist(), int(counts.unanswerable.sum())]
        without = [*counts.without_answer.tolist(), int(counts.without_answer.sum())]
        splits = {
            name: lengths.report(self._settings.quantiles)
            | {"unanswerable": finding(left, lengths.samples), "without_answer": finding(blank, lengths.samples)}
            for name, lengths, left, blank in zip((*SPLITS, ALL), every, unanswerable, without, strict=True)
            if lengths.samples
        }
        return {"splits": splits, "texts": counts.findings.report()}

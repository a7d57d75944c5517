"""The pass over the judgements table: pairs of a better and a worse response."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np

from faithline.noise.findings import Json, TextFindings, finding
from faithline.noise.histogram import Histogram, summary
from faithline.noise.set_codes import SetCodes
from faithline.noise.settings import Noise
from faithline.noise.stream import Batch, stream
from faithline.noise.tables.asked import Asked, split_codes
from faithline.noise.tables.document_index import DocumentIndex
from faithline.noise.tables.sources import Sources
from faithline.noise.text.reader import TextReader

__all__ = ["Judgements"]

_SIDES = ("preferred", "rejected")
_COLUMNS = ("judgement_id", "source_id", "split", "task", "criterion", "query", "documents", *_SIDES)


class _SetJudgements:
    """Running counts of one set."""

    def __init__(self, settings: Noise) -> None:
        self.findings = {side: TextFindings(settings.examples) for side in _SIDES}
        self.words = {side: Histogram() for side in _SIDES}
        self.criteria: Counter[str] = Counter()
        self.equal = 0


class Judgements:
    """Figures of all judgements."""

    def __init__(self, settings: Noise, sets: SetCodes) -> None:
        self._settings = settings
        self._sources = Sources(settings, sets)
        self._reader = TextReader(settings, window=1, with_signatures=False)
        self._counts: defaultdict[str, _SetJudgements] = defaultdict(lambda: _SetJudgements(settings))

    def run(self, prepared: Path, index: DocumentIndex, asked: Asked, on_rows: Callable[[int], None]) -> None:
        """Read the table; questions among the queries go to `asked`."""
        for batch in stream(prepared, "judgements", _COLUMNS, "preferred"):
            self._add(batch)
            self._sources.add(batch, split_codes(batch.rows, "judgements"), index, asked)
            on_rows(batch.rows.num_rows)

    def _add(self, batch: Batch) -> None:
        rows, counts = batch.rows, self._counts[batch.set_name]
        facts = {side: self._reader.read(rows.column(side)) for side in _SIDES}
        for side, found in facts.items():
            counts.findings[side].add(found, rows.column("judgement_id"))
            counts.words[side].add(found.words)
        counts.equal += int(np.count_nonzero(facts["preferred"].keys == facts["rejected"].keys))
        for entry in rows.column("criterion").value_counts().to_pylist():
            counts.criteria[entry["values"]] += entry["counts"]

    def report(self) -> dict[str, Json]:
        """Return each set's figures."""
        return {name: self._set_report(name, counts) for name, counts in sorted(self._counts.items())}

    def _set_report(self, name: str, counts: _SetJudgements) -> Json:
        total = counts.findings["preferred"].texts
        return {
            "splits": self._sources.splits(name, "judgements"),
            "criteria": {name: finding(number, total) for name, number in sorted(counts.criteria.items())},
            # The two sides say the same once normalised: nothing tells which is better.
            "equal_sides": finding(counts.equal, total),
            "words": {side: summary(counts.words[side].table(), self._settings.quantiles) for side in _SIDES},
            "texts": {side: counts.findings[side].report() for side in _SIDES},
        }

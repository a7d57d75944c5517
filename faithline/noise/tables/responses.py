"""The pass over the responses table: model answers with annotated hallucinations, and the noise of those labels."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

from faithline.noise.findings import Json, TextFindings, finding
from faithline.noise.histogram import Histogram, summary
from faithline.noise.set_codes import SetCodes
from faithline.noise.settings import Noise
from faithline.noise.stream import Batch, stream
from faithline.noise.tables.asked import Asked, split_codes
from faithline.noise.tables.document_index import DocumentIndex
from faithline.noise.tables.label_noise import LabelNoise
from faithline.noise.tables.sources import Sources
from faithline.noise.text.faults import Fault
from faithline.noise.text.reader import TextReader

__all__ = ["Responses"]

_COLUMNS = ("response_id", "source_id", "split", "task", "query", "documents", "response", "quality", "labels")


class _SetResponses:
    """Running counts of one set."""

    def __init__(self, settings: Noise) -> None:
        self.findings = TextFindings(settings.examples)
        self.words = Histogram()
        self.labels = LabelNoise(settings.examples)
        self.quality: Counter[str] = Counter()


class Responses:
    """Figures of all responses."""

    def __init__(self, settings: Noise, sets: SetCodes) -> None:
        self._settings = settings
        self._sources = Sources(settings, sets)
        self._reader = TextReader(settings, window=1, with_signatures=False)
        self._counts: defaultdict[str, _SetResponses] = defaultdict(lambda: _SetResponses(settings))

    def run(self, prepared: Path, index: DocumentIndex, asked: Asked, on_rows: Callable[[int], None]) -> None:
        """Read the table; questions among the queries go to `asked`."""
        for batch in stream(prepared, "responses", _COLUMNS, "response"):
            self._add(batch)
            self._sources.add(batch, split_codes(batch.rows, "responses"), index, asked)
            on_rows(batch.rows.num_rows)

    def _add(self, batch: Batch) -> None:
        rows, counts = batch.rows, self._counts[batch.set_name]
        facts = self._reader.read(rows.column("response"))
        counts.findings.add(facts, rows.column("response_id"))
        counts.words.add(facts.words)
        for entry in rows.column("quality").value_counts().to_pylist():
            counts.quality[entry["values"]] += entry["counts"]
        counts.labels.add(rows.column("response_id"), rows.column("response"), rows.column("labels"))

    def report(self) -> dict[str, Json]:
        """Return each set's figures."""
        return {name: self._set_report(name, counts) for name, counts in sorted(self._counts.items())}

    def _set_report(self, name: str, counts: _SetResponses) -> Json:
        total = counts.findings.texts
        return {
            "splits": self._sources.splits(name, "responses"),
            "words": summary(counts.words.table(), self._settings.quantiles),
            "blank": counts.findings.found(Fault.EMPTY),
            "labels": counts.labels.report(),
            "quality": {remark: finding(number, total) for remark, number in sorted(counts.quality.items())},
            "texts": counts.findings.report(),
        }

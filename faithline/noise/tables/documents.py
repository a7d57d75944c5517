"""The pass over the documents table: the one that reads nearly all of the text, so batches are read in parallel."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path

import numpy as np

from faithline.noise.findings import Json, TextFindings, finding
from faithline.noise.groups import repeated
from faithline.noise.histogram import Histogram, summary
from faithline.noise.near_duplicates import NearDuplicateFinder
from faithline.noise.overlap import GramSpool, window_for
from faithline.noise.set_codes import SetCodes
from faithline.noise.settings import Noise
from faithline.noise.stream import Batch, in_order, pick, stream, table_rows, text_bytes
from faithline.noise.tables.document_index import DocumentIndex
from faithline.noise.text.faults import Fault
from faithline.noise.text.reader import TextFacts, TextReader

__all__ = ["Documents"]

_COLUMNS = ("document_id", "text")


class _SetDocuments:
    """Running counts of one set."""

    def __init__(self, settings: Noise) -> None:
        self.findings = TextFindings(settings.examples)
        self.words = Histogram()
        self.characters = Histogram()


class Documents:
    """All documents: an index for later passes, hashes for the leakage figures, and counts per set."""

    def __init__(self, prepared: Path, settings: Noise, scratch: Path, sets: SetCodes) -> None:
        size = text_bytes(prepared, "documents", "text")
        self.window = window_for(size, settings.leakage.max_document_ngrams)
        """See `ngrams.grams_of`."""
        self.index = DocumentIndex(table_rows(prepared, "documents"))
        most = min(size, settings.leakage.max_document_ngrams)
        self.grams = GramSpool(scratch, "documents", most, settings.sort_mib << 20)
        self._prepared = prepared
        self._settings = settings
        self._scratch = scratch
        self._sets = sets
        self._counts: defaultdict[str, _SetDocuments] = defaultdict(lambda: _SetDocuments(settings))
        self._finders: dict[str, NearDuplicateFinder] = {}

    def run(self, pool: Executor, ahead: int, on_rows: Callable[[int], None]) -> None:
        """Read the table.

        Args:
            pool: Where batches are read.
            ahead: Batches that may wait.
            on_rows: Called with the number of rows just counted, for progress.
        """
        reader = TextReader(self._settings, self.window, with_signatures=True)

        def read(batch: Batch) -> TextFacts:
            return reader.read(batch.rows.column("text"))

        batches = stream(self._prepared, "documents", _COLUMNS, "text")
        for batch, facts in in_order(pool, read, batches, ahead):
            self._add(batch, facts)
            on_rows(batch.rows.num_rows)
        self.index.freeze()

    def _add(self, batch: Batch, facts: TextFacts) -> None:
        ids = batch.rows.column("document_id")
        self.index.add(batch.start, ids, facts, self._sets.code(batch.set_name))
        self.grams.add(facts.grams, facts.gram_texts + batch.start)
        counts = self._counts[batch.set_name]
        counts.findings.add(facts, ids)
        counts.words.add(facts.words)
        counts.characters.add(facts.characters)
        comparable = np.flatnonzero(facts.tokens)
        if facts.signatures is not None:
            self._finder(batch.set_name).add(facts.signatures[comparable], comparable + batch.start)

    def _finder(self, name: str) -> NearDuplicateFinder:
        if name not in self._finders:
            near = self._settings.near_duplicates
            code, budget = self._sets.code(name), self._settings.sort_mib << 20
            self._finders[name] = NearDuplicateFinder(
                self._scratch, f"set-{code}", near.permutations, near.min_jaccard, budget
            )
        return self._finders[name]

    def report(self) -> dict[str, Json]:
        """Return each set's figures; call once, after `run`."""
        return {name: self._set_report(name) for name in sorted(self._counts)}

    def _set_report(self, name: str) -> Json:
        counts, quantiles = self._counts[name], self._settings.quantiles
        findings = counts.findings
        rows = np.flatnonzero(self.index.sets == self._sets.code(name))
        groups = repeated(self.index.keys[rows])
        near, pairs = self._near_duplicates(name, findings.texts)
        return {
            "count": findings.texts,
            "words": summary(counts.words.table(), quantiles),
            "characters": summary(counts.characters.table(), quantiles),
            "empty": findings.found(Fault.EMPTY),
            "truncated": {
                "ellipsis": findings.found(Fault.ELLIPSIS),
                "unfinished": findings.found(Fault.UNFINISHED),
            },
            "equal_when_normalised": finding(len(groups.rows) - len(groups.starts), findings.texts),
            "near_duplicates": near | ({"examples": pairs} if pairs else {}),
            "texts": findings.report(),
        }

    def _near_duplicates(self, name: str, documents: int) -> tuple[Json, list[Json]]:
        found = self._finder(name).find()
        shown = slice(0, self._settings.examples)
        rows, earlier = found.rows[shown], found.earlier[shown]
        both = np.unique(np.concatenate([rows, earlier]))
        ids = [row["document_id"] for row in pick(self._prepared, "documents", ["document_id"], both)]
        named = dict(zip(both.tolist(), ids, strict=True))
        pairs: list[Json] = [
            {"document": named[row], "earlier": named[first], "jaccard": float(jaccard)}
            for row, first, jaccard in zip(rows.tolist(), earlier.tolist(), found.jaccard[shown], strict=True)
        ]
        return finding(len(found.rows), documents), pairs

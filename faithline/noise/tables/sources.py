"""Sources that several rows share (responses to one prompt, pairs about one context): each is measured once."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from faithline.data.digest_index import DigestIndex
from faithline.data.schema import SPLITS
from faithline.noise.findings import Json
from faithline.noise.lengths import ALL, Lengths, evidence_of
from faithline.noise.set_codes import SetCodes
from faithline.noise.settings import Noise
from faithline.noise.stream import Batch
from faithline.noise.tables.asked import Asked
from faithline.noise.tables.document_index import DocumentIndex
from faithline.noise.text.hashing import hash_strings
from faithline.noise.text.reader import TextReader

__all__ = ["Sources"]

Ints = npt.NDArray[np.int64]


class Sources:
    """Lengths of the sources of one table."""

    def __init__(self, settings: Noise, sets: SetCodes) -> None:
        self._settings = settings
        self._sets = sets
        self._reader = TextReader(settings, window=1, with_signatures=False)
        self._seen = DigestIndex()
        self._lengths: defaultdict[str, list[Lengths]] = defaultdict(lambda: [Lengths() for _ in SPLITS])
        self._rows: defaultdict[str, Ints] = defaultdict(lambda: np.zeros(len(SPLITS), dtype=np.int64))

    def add(self, batch: Batch, splits: Ints, index: DocumentIndex, asked: Asked) -> None:
        """Add the sources that appear in a batch for the first time.

        Args:
            batch: With the columns source_id, task, query and documents.
            splits: Index into SPLITS of each row.
            index: All documents.
            asked: Gets the queries that are questions.
        """
        self._rows[batch.set_name] += np.bincount(splits, minlength=len(SPLITS))
        ids = hash_strings(batch.rows.column("source_id"))
        first = np.flatnonzero(self._seen.add(ids, ids)[0])
        sources, splits = batch.rows.take(pa.array(first)), splits[first]
        # Only question answering asks: other tasks share one instruction, which leaks nothing.
        asking = np.flatnonzero(np.asarray(pc.equal(sources.column("task"), "qa"), dtype=np.bool_))
        questions = self._reader.read(sources.column("query").take(pa.array(asking)))
        asked.add(questions, self._sets.code(batch.set_name), splits[asking])
        words = self._reader.read(sources.column("query")).words
        evidence = evidence_of(sources.column("documents"), None, index, splits)
        for split in np.unique(splits):
            self._lengths[batch.set_name][split].add(words, evidence, splits == split)

    def splits(self, name: str, rows: str) -> Json:
        """Return a set's figures by split, the number of rows under the name `rows`."""
        lengths, counts = self._lengths[name], self._rows[name].tolist()
        every = zip((*SPLITS, ALL), [*lengths, Lengths.together(lengths)], [*counts, sum(counts)], strict=True)
        return {split: part.report(self._settings.quantiles) | {rows: count} for split, part, count in every if count}

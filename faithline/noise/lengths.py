"""What a query and its documents look like, per split: the figures of MARCH's Table 1 (systems.md 1.7), and more.

A *query* is a question with its documents, or a source that responses were written for. The irrelevant share is micro:
1 - supporting documents / documents, over documents whose flag is known. Lengths of documents are those of their texts,
without titles.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from faithline.noise.findings import Json
from faithline.noise.histogram import Histogram, Ratios, summary
from faithline.noise.tables.document_index import DocumentIndex

__all__ = ["ALL", "Evidence", "Lengths", "evidence_of"]

Ints = npt.NDArray[np.int64]

ALL = "all"
"""Name of the splits taken together."""


@dataclass(frozen=True)
class Evidence:
    """The documents of a batch of queries, one after the other."""

    first: Ints
    """Where each query's documents start, shape (q + 1,)."""
    words: Ints
    """Words of each document, shape (d,); 0 where the document is missing."""
    characters: Ints
    """Characters of each, shape (d,)."""
    supporting: npt.NDArray[np.int8]
    """1 = yes, 0 = no, -1 = unknown, shape (d,)."""

    def sums(self, values: npt.NDArray[np.integer] | npt.NDArray[np.bool_]) -> Ints:
        """Add up a value of each document per query, shape (q,)."""
        upto = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
        return np.asarray(upto[self.first[1:]] - upto[self.first[:-1]])


def evidence_of(documents: pa.Array, supporting: pa.Array | None, index: DocumentIndex, splits: Ints) -> Evidence:
    """Look up the documents of queries, and note in the index which splits show them.

    Args:
        documents: Lists of document ids, one per query.
        supporting: Lists of flags of the same lengths; None = none is known.
        index: All documents.
        splits: Index into SPLITS of each query.
    """
    counts = np.asarray(pc.list_value_length(documents), dtype=np.int64)
    rows = index.rows(pc.list_flatten(documents))
    there = rows >= 0
    shown = np.repeat(splits, counts)
    for code in np.unique(shown):
        index.splits[rows[there & (shown == code)]] |= np.uint8(1 << code)
    words, characters = np.zeros((2, len(rows)), dtype=np.int64)
    words[there], characters[there] = index.words[rows[there]], index.characters[rows[there]]
    flags = np.full(len(rows), -1, dtype=np.int8)
    if supporting is not None:
        flags = np.asarray(pc.list_flatten(supporting).cast(pa.int8()).fill_null(-1), dtype=np.int8)
    return Evidence(np.concatenate([[0], np.cumsum(counts)]), words, characters, flags)


class Lengths:
    """Running distributions of one split of one set."""

    def __init__(self) -> None:
        self.samples = 0
        self._whole = {name: Histogram() for name in ("query_words", "documents", "gold_documents")}
        self._whole |= {name: Histogram() for name in ("context_words", "context_characters")}
        self._documents = {name: Histogram() for name in ("document_words", "document_characters")}
        self._irrelevant = Ratios()
        self._known = 0
        self._supporting = 0
        self._unknown = 0

    def add(self, query_words: Ints, evidence: Evidence, chosen: npt.NDArray[np.bool_]) -> None:
        """Add the chosen queries of a batch, masks of shape (q,)."""
        counts = np.diff(evidence.first)
        shown = np.repeat(chosen, counts)
        known, gold = evidence.sums(evidence.supporting >= 0), evidence.sums(evidence.supporting == 1)
        self.samples += int(chosen.sum())
        self._whole["query_words"].add(query_words[chosen])
        self._whole["documents"].add(counts[chosen])
        self._whole["context_words"].add(evidence.sums(evidence.words)[chosen])
        self._whole["context_characters"].add(evidence.sums(evidence.characters)[chosen])
        self._documents["document_words"].add(evidence.words[shown])
        self._documents["document_characters"].add(evidence.characters[shown])
        self._irrelevant.add((known - gold)[chosen], known[chosen])
        # Of a query some of whose flags are unknown, the number of gold documents is not known either.
        self._whole["gold_documents"].add(gold[chosen & (known == counts) & (counts > 0)])
        self._known += int(known[chosen].sum())
        self._supporting += int(gold[chosen].sum())
        self._unknown += int((counts - known)[chosen].sum())

    @classmethod
    def together(cls, parts: Iterable[Lengths]) -> Lengths:
        """Return the distributions of all parts as one."""
        whole = cls()
        for part in parts:
            whole.samples += part.samples
            for mine, theirs in ((whole._whole, part._whole), (whole._documents, part._documents)):
                for name, histogram in theirs.items():
                    mine[name].add_all(histogram)
            whole._irrelevant.add_all(part._irrelevant)
            whole._known += part._known
            whole._supporting += part._supporting
            whole._unknown += part._unknown
        return whole

    def report(self, quantiles: Sequence[float]) -> Json:
        """Return every distribution's summary."""
        found: Json = {
            name: summary(histogram.table(), quantiles)
            for name, histogram in sorted({**self._whole, **self._documents}.items())
        }
        ratio = 1.0 - self._supporting / self._known if self._known else None
        return found | {
            "samples": self.samples,
            "irrelevant_documents": {
                "ratio": ratio,
                "known_flags": self._known,
                "unknown_flags": self._unknown,
                "per_query": self._irrelevant.summary(quantiles),
            },
        }

"""Leakage: evaluation questions, documents and long answers that training data also hold, within and between sets.

*Exact* means equal after normalising (case, punctuation, spacing); *n-gram* means a shared run of n tokens, or equality
for texts shorter than that, and includes exact. Evaluation is validation and test together. That questions of both
share documents is how multi-hop sets are built: document figures describe, question figures accuse.
"""

from __future__ import annotations

import numpy as np

from faithline.data.schema import SPLITS
from faithline.noise.findings import Json, finding
from faithline.noise.overlap import Items, equal_keys
from faithline.noise.set_codes import SetCodes
from faithline.noise.settings import Leakage
from faithline.noise.tables.asked import Asked, LongAnswers
from faithline.noise.tables.documents import Documents
from faithline.noise.text.hashing import Words

__all__ = ["Met", "leakage_report", "meet"]

_EVALUATION = SPLITS[1:]


class Met:
    """Which training sets each evaluation item met."""

    def __init__(self, items: Items, exact: Words | None, ngram: Words) -> None:
        self._items = items
        self._masks = {"ngram": ngram} if exact is None else {"exact": exact, "ngram": ngram}

    def of_set(self, code: int) -> Json:
        """Return a set's evaluation items and how many met training data of any set."""
        mine = self._items.evaluation & (self._items.sets == code)
        total = int(mine.sum())
        found: Json = {"evaluation": total}
        for name, mask in self._masks.items():
            found[name] = finding(int(np.count_nonzero(mask[mine])), total)
        return found

    def pairs(self) -> dict[tuple[int, int, str], dict[str, int]]:
        """Return counts by (training set, evaluation set, evaluation split), where there are any."""
        counts: dict[tuple[int, int, str], dict[str, int]] = {}
        for name, mask in self._masks.items():
            rows = np.flatnonzero(mask)
            sets, splits, met = self._items.sets[rows], self._items.splits[rows], mask[rows]
            for bit, split in enumerate(_EVALUATION, start=1):
                here = (splits >> bit & 1) == 1
                for training in _bits(met):
                    hit = here & ((met >> np.uint64(training) & np.uint64(1)) == 1)
                    for evaluated, count in enumerate(np.bincount(sets[hit]).tolist()):
                        if count:
                            counts.setdefault((training, evaluated, split), {})[name] = count
        return counts


def meet(documents: Documents, asked: Asked, long_answers: LongAnswers) -> dict[str, Met]:
    """Resolve who met whom, by kind of item; call once, when all passes are done."""
    questions, keys = asked.items()
    exact_questions = equal_keys(questions, keys)
    met = {"questions": Met(questions, exact_questions, asked.grams.shared(questions, exact_questions))}
    index, answers = documents.index, long_answers.items()
    shown = Items(index.sets, index.splits)
    exact_documents = equal_keys(shown, index.keys)
    both = Items(np.concatenate([shown.sets, answers.sets]), np.concatenate([shown.splits, answers.splits]))
    known = np.concatenate([exact_documents, np.zeros(len(answers.sets), dtype=np.uint64)])
    shared = documents.grams.shared(both, known)
    met["documents"] = Met(shown, exact_documents, shared[: len(index)])
    met["long_answers"] = Met(answers, None, shared[len(index) :])
    return met


def leakage_report(met: dict[str, Met], sets: SetCodes, settings: Leakage, window: int) -> Json:
    """Return how it was measured, and every pair of sets that met."""
    rows: dict[tuple[int, int, str], Json] = {}
    for kind, found in met.items():
        for pair, counts in found.pairs().items():
            rows.setdefault(pair, {})[kind] = counts
    pairs = [
        {"training_set": sets.names[training], "evaluation_set": sets.names[evaluated], "split": split} | row
        for (training, evaluated, split), row in rows.items()
    ]
    return {
        "ngram_words": settings.ngram_words,
        "document_window": window,
        # A shared run this long is sure to be found in documents and long answers; in questions, one of n tokens.
        "document_run_words": settings.ngram_words + window - 1,
        "pairs": sorted(pairs, key=lambda row: (row["training_set"], row["evaluation_set"], row["split"])),
    }


def _bits(masks: Words) -> list[int]:
    every = int(np.bitwise_or.reduce(masks)) if len(masks) else 0
    return [bit for bit in range(64) if every >> bit & 1]

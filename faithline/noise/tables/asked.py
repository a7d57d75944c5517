"""What questions and answers may leak: gathered by the passes over the tables that ask.

Each question asked, whichever table it is in, is an item of the leakage figures: a row of `questions`, the first claim
of a question, a source of responses or judgements whose task is to answer a question. Answers long enough for a run of
n tokens are items beside documents.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from faithline.data.schema import SPLITS
from faithline.noise.overlap import TOKEN_BYTES, GramSpool, Items
from faithline.noise.settings import Noise
from faithline.noise.stream import text_bytes
from faithline.noise.text.hashing import Words
from faithline.noise.text.ngrams import Runs, grams_of
from faithline.noise.text.reader import TextFacts
from faithline.noise.text.tokens import tokenise
from faithline.pipeline.errors import DataInvalid

__all__ = ["Asked", "LongAnswers", "split_codes"]

Ints = npt.NDArray[np.int64]

_TEXTS = {"questions": "question", "claims": "question", "responses": "query", "judgements": "query"}


def split_codes(batch: pa.RecordBatch, table: str) -> Ints:
    """Return the index into SPLITS of each row.

    Raises:
        DataInvalid: If a split is none of them.
    """
    codes = pc.index_in(batch.column("split"), pa.array(SPLITS))
    if codes.null_count:
        wrong = batch.column("split").filter(pc.is_null(codes))[0]
        raise DataInvalid(
            f"unknown split {wrong.as_py()!r}", where=f"table {table}", next_step="run `dvc repro prepare_data`"
        )
    return np.asarray(codes, dtype=np.int64)


@dataclass
class _Columns:
    """Growing columns of items."""

    sets: list[npt.NDArray[np.uint8]] = field(default_factory=list)
    splits: list[npt.NDArray[np.uint8]] = field(default_factory=list)

    def add(self, set_code: int, splits: Ints) -> None:
        self.sets.append(np.full(len(splits), set_code, dtype=np.uint8))
        self.splits.append((1 << splits).astype(np.uint8))

    def items(self) -> Items:
        empty = np.zeros(0, dtype=np.uint8)
        return Items(np.concatenate([empty, *self.sets]), np.concatenate([empty, *self.splits]))


class Asked:
    """All questions asked."""

    def __init__(self, prepared: Path, scratch: Path, settings: Noise) -> None:
        self.count = 0
        size = sum(text_bytes(prepared, table, column) for table, column in _TEXTS.items())
        self.grams = GramSpool(scratch, "questions", size // TOKEN_BYTES, settings.sort_mib << 20)
        self._columns = _Columns()
        self._keys: list[Words] = []

    def add(self, facts: TextFacts, set_code: int, splits: Ints) -> None:
        """Add a batch of questions of one set."""
        self.grams.add(facts.grams, facts.gram_texts + self.count)
        self._keys.append(facts.keys)
        self._columns.add(set_code, splits)
        self.count += len(facts.keys)

    def items(self) -> tuple[Items, Words]:
        """Return the items and the hash of each one's normalised text."""
        return self._columns.items(), np.concatenate([np.zeros(0, np.uint64), *self._keys])


class LongAnswers:
    """Answers of at least n tokens; they share the documents' file of hashes, numbered after the documents."""

    def __init__(self, grams: GramSpool, documents: int, settings: Noise, window: int) -> None:
        self._grams = grams
        self._next = documents
        self._ngram_words = settings.leakage.ngram_words
        self._window = window
        self._columns = _Columns()

    def add(self, answers: pa.Array, owners: Ints, set_code: int, splits: Ints) -> Words:
        """Add the answers of a batch of questions of one set.

        Args:
            answers: All answers, shape (a,).
            owners: The question of each, ascending, shape (a,).
            set_code: The set.
            splits: Index into SPLITS of each question, shape (q,).

        Returns:
            Hash of each answer's normalised text, shape (a,).
        """
        tokens = tokenise(answers)
        runs = Runs.of(tokens)
        long = tokens.counts >= self._ngram_words
        if long.any():
            grams, texts = grams_of(runs, self._ngram_words, self._window)
            kept = long[texts]
            questions, items = np.unique(owners[texts[kept]], return_inverse=True)
            self._grams.add(grams[kept], items + self._next)
            self._next += len(questions)
            self._columns.add(set_code, splits[questions])
        return runs.whole()

    def items(self) -> Items:
        """Return the items, in the order of their numbers."""
        return self._columns.items()

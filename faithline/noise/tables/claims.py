"""The pass over the claims table: true and false reference answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from faithline.data.digest_index import DigestIndex
from faithline.data.schema import SPLITS
from faithline.noise.findings import Json, TextFindings, finding
from faithline.noise.groups import repeated
from faithline.noise.histogram import Histogram, summary
from faithline.noise.lengths import ALL
from faithline.noise.set_codes import SetCodes
from faithline.noise.settings import Noise
from faithline.noise.stream import Batch, stream
from faithline.noise.tables.asked import Asked, LongAnswers, split_codes
from faithline.noise.text.hashing import Words, hash_strings, mix
from faithline.noise.text.reader import TextReader

__all__ = ["Claims"]

_COLUMNS = ("claim_id", "question_id", "split", "question", "answer", "truthful")


class _Split:
    """Running counts of one split."""

    def __init__(self) -> None:
        self.claims = 0
        self.truthful = 0
        self.questions = 0
        self.question_words = Histogram()
        self.answer_words = Histogram()


class _SetClaims:
    """Running counts of one set."""

    def __init__(self, settings: Noise) -> None:
        self.findings = TextFindings(settings.examples)
        self.splits = [_Split() for _ in SPLITS]
        self.keys: list[Words] = []
        self.truthful: list[npt.NDArray[np.bool_]] = []


class Claims:
    """Figures of all claims."""

    def __init__(self, settings: Noise, sets: SetCodes) -> None:
        self._settings = settings
        self._sets = sets
        self._reader = TextReader(settings, window=1, with_signatures=False)
        self._seen = DigestIndex()
        self._counts: defaultdict[str, _SetClaims] = defaultdict(lambda: _SetClaims(settings))

    def run(self, prepared: Path, asked: Asked, long_answers: LongAnswers, on_rows: Callable[[int], None]) -> None:
        """Read the table; what may leak goes to `asked` and `long_answers`."""
        for batch in stream(prepared, "claims", _COLUMNS, "answer"):
            self._add(batch, asked, long_answers)
            on_rows(batch.rows.num_rows)

    def _add(self, batch: Batch, asked: Asked, long_answers: LongAnswers) -> None:
        rows, code = batch.rows, self._sets.code(batch.set_name)
        splits = split_codes(rows, "claims")
        ids = hash_strings(rows.column("question_id"))
        fresh, _ = self._seen.add(ids, ids)
        questions, answers = (self._reader.read(rows.column(name)) for name in ("question", "answer"))
        first = pa.array(np.flatnonzero(fresh))
        asked.add(self._reader.read(rows.column("question").take(first)), code, splits[fresh])
        long_answers.add(rows.column("answer"), np.arange(len(splits)), code, splits)
        truthful = np.asarray(rows.column("truthful"), dtype=np.bool_)
        counts = self._counts[batch.set_name]
        counts.findings.add(answers, rows.column("claim_id"))
        counts.keys.append(mix(questions.keys + mix(answers.keys)))
        counts.truthful.append(truthful)
        for split in np.unique(splits):
            chosen, part = splits == split, counts.splits[split]
            part.claims += int(chosen.sum())
            part.truthful += int((chosen & truthful).sum())
            part.questions += int((chosen & fresh).sum())
            part.question_words.add(questions.words[chosen & fresh])
            part.answer_words.add(answers.words[chosen])

    def report(self) -> dict[str, Json]:
        """Return each set's figures."""
        return {name: self._set_report(counts) for name, counts in sorted(self._counts.items())}

    def _set_report(self, counts: _SetClaims) -> Json:
        whole = _Split()
        for part in counts.splits:
            whole.claims += part.claims
            whole.truthful += part.truthful
            whole.questions += part.questions
            whole.question_words.add_all(part.question_words)
            whole.answer_words.add_all(part.answer_words)
        splits = {
            name: {
                "samples": part.questions,
                "claims": part.claims,
                "truthful": finding(part.truthful, part.claims),
                "query_words": summary(part.question_words.table(), self._settings.quantiles),
                "answer_words": summary(part.answer_words.table(), self._settings.quantiles),
            }
            for name, part in zip((*SPLITS, ALL), (*counts.splits, whole), strict=True)
            if part.claims
        }
        return {
            "splits": splits,
            "both_true_and_false": finding(_contradicting(counts), whole.claims),
            "texts": counts.findings.report(),
        }


def _contradicting(counts: _SetClaims) -> int:
    """Count claims that equal, for the same question, one with the other label."""
    keys, truthful = np.concatenate(counts.keys), np.concatenate(counts.truthful)
    groups = repeated(keys)
    if not len(groups.rows):
        return 0
    labels = truthful[groups.rows]
    some, every = (ufunc.reduceat(labels, groups.starts) for ufunc in (np.logical_or, np.logical_and))
    return int((some & ~every)[groups.owners()].sum())

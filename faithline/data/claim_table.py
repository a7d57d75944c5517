"""Claims to Arrow: the true and false reference answers of each question become rows of the claims table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress

import msgspec
import pyarrow as pa

from faithline.data.batches import batches
from faithline.data.question_table import split_column
from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.records import Claim
from faithline.data.repeats import RepeatFilter
from faithline.data.schema import CLAIMS
from faithline.data.splits import Splitter

__all__ = ["claim_tables"]

_BATCH_CLAIMS = 10_000


def claim_tables(questions: Iterable[Sequence[Claim]], splitter: Splitter, ledger: RowLedger) -> Iterator[pa.Table]:
    """Turn claims into rows of CLAIMS, batch by batch.

    Args:
        questions: The claims of one question each, in the order of the file; none is empty.
        splitter: Deals the splits by question.
        ledger: Takes note of repeated and conflicting questions, and of kept rows.
    """
    repeats = RepeatFilter(ledger)
    for batch in batches(questions, len, _BATCH_CLAIMS):
        fresh = repeats.first(
            [claims[0].source_id for claims in batch],
            [msgspec.json.encode([(c.category, c.answer, c.truthful, c.best) for c in claims]) for claims in batch],
            [claims[0].where for claims in batch],
        )
        kept = list(compress(batch, fresh))
        ledger.kept += len(kept)
        yield _rows([claim for claims in kept for claim in claims], splitter)


def _rows(claims: Sequence[Claim], splitter: Splitter) -> pa.Table:
    question_ids = [f"{splitter.set_name}/{claim.source_id}" for claim in claims]
    kinds = ["true" if claim.truthful else "false" for claim in claims]
    return pa.table(
        {
            "claim_id": [
                f"{question_id}/{kind}-{claim.position}"
                for question_id, kind, claim in zip(question_ids, kinds, claims, strict=True)
            ],
            "question_id": question_ids,
            "set": [splitter.set_name] * len(claims),
            "split": split_column(splitter, [claim.source_id for claim in claims]),
            "category": [claim.category for claim in claims],
            "question": [claim.question for claim in claims],
            "answer": [claim.answer for claim in claims],
            "truthful": [claim.truthful for claim in claims],
            "best": [claim.best for claim in claims],
        },
        schema=CLAIMS,
    )

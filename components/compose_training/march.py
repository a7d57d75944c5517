"""MARCH's rows: a query with its documents, nothing else of the question."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from components.compose_training import eligible
from components.compose_training.draws import Destination, Flags
from components.compose_training.params import Domain
from components.compose_training.shown import Shown
from faithline.noise.text.hashing import Words
from faithline.training_sets.schema import MARCH

__all__ = ["march_draw", "march_table"]


def march_draw(name: str, settings: Domain) -> Destination:
    """Return the draw of a domain."""
    limits = {"train": settings.train, "validation": settings.validation}
    return Destination(f"march.{name}", settings.sets, limits, eligible.has_documents)


def march_table(drawn: Flags, rows: pa.RecordBatch, shown: Shown, keys: Words) -> pa.Table:
    """Return the rows of the questions drawn; those whose documents are all without text are not among them.

    Args:
        drawn: Which of the questions, shape (n,).
        rows: Of the questions table.
        shown: Their documents.
        keys: Their hashes, shape (n,).
    """
    kept = drawn & (np.bincount(shown.owners, minlength=len(drawn)) > 0)
    picked = rows.filter(pa.array(kept))
    return pa.table(
        {
            "question_id": picked.column("question_id"),
            "set": picked.column("set"),
            "order": pa.array(keys[kept], pa.uint64()),
            "query": picked.column("question"),
            "documents": shown.lists(kept),
        },
        schema=MARCH,
    )

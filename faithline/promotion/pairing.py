"""Candidate and champion on the same items, checked: nothing is compared that was not asked of both.

An evaluation is the items table of the stage `evaluate`. Two are comparable when they have the same question ids, each
with the same question, gold answers and answerability; otherwise it is an error that says how many differ and which is
first. A score outside 0..1, NaN, an id that comes twice or a missing column is an error as well. Null stands for "does
not apply" or "not judged" and must mean the same on both sides, except for the hallucination verdict, which a judge may
have failed to give: such items are left out of its test and counted.
"""

from __future__ import annotations

import hashlib
import io
import itertools
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from faithline.metrics.normalise import Normalisation
from faithline.pipeline.errors import DataInvalid

__all__ = ["Items", "Paired", "items_of", "items_of_file", "pair", "read_items"]

Floats = npt.NDArray[np.float64]

LABELS = ("set", "hops", "question_type", "answer_type", "noise_level")
_QUESTION = ("question_id", "question", "answers", "answerable")
_NEEDED = (*_QUESTION, *LABELS, "outcome", "f1_official", "f1_strict", "hallucinated")
_NEXT = "run `dvc repro evaluate`"


@dataclass(frozen=True)
class Items:
    """One evaluation, in the order of question ids."""

    where: str
    ids: list[str]
    asked: list[str]
    """Digest of question, gold answers and answerability, per item."""
    f1: Floats
    """NaN where there is nothing to compare with."""
    answered: Floats
    """1 or 0; NaN for questions that the documents do not answer."""
    hallucinated: Floats
    """1 or 0; NaN where it cannot be told."""
    labels: dict[str, list[str]]

    @property
    def digest(self) -> str:
        """Identity of the item set."""
        return hashlib.sha256("\n".join(self.asked).encode()).hexdigest()


@dataclass(frozen=True)
class Paired:
    """Scores of both on the same items."""

    candidate: Items
    champion: Items


def items_of_file(path: Path, normalisation: Normalisation) -> Items:
    """Read an items table from a file; see `items_of`."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise DataInvalid("input not found", where=str(path), next_step=_NEXT) from None
    return read_items(content, path.name, normalisation)


def read_items(content: bytes, where: str, normalisation: Normalisation) -> Items:
    """Read an items table from the bytes of a Parquet file; see `items_of`."""
    try:
        table = pq.read_table(io.BytesIO(content))
    except pa.ArrowException as error:
        raise DataInvalid(f"corrupt Parquet file: {error}", where=where, next_step=_NEXT) from None
    return items_of(table, where, normalisation)


def items_of(table: pa.Table, where: str, normalisation: Normalisation) -> Items:
    """Check an items table and take what the gate needs.

    Args:
        table: As the stage `evaluate` writes it.
        where: What to call it in messages.
        normalisation: Which F1 counts.

    Raises:
        DataInvalid: If a column is missing, there is no row, an id comes twice, or a score is NaN or outside 0..1.
    """
    missing = sorted(set(_NEEDED) - set(table.column_names))
    if missing:
        raise DataInvalid(f"column `{missing[0]}` is missing", where=where, next_step=_NEXT)
    if not table.num_rows:
        raise DataInvalid("no items", where=where, next_step=_NEXT)
    table = table.take(pc.sort_indices(table["question_id"]))
    ids = table["question_id"].to_pylist()
    twice = next((first for first, second in itertools.pairwise(ids) if first == second), None)
    if twice is not None or None in ids:
        raise DataInvalid(f"question {twice} is there more than once", where=where, next_step=_NEXT)
    answerable = np.asarray(table["answerable"])
    answered = (np.asarray(table["outcome"]) == "ok").astype(np.float64)
    rows = zip(*(table[name].to_pylist() for name in _QUESTION), strict=True)
    return Items(
        where=where,
        ids=ids,
        asked=[hashlib.sha256(msgspec.json.encode(row)).hexdigest() for row in rows],
        f1=np.where(answerable, _scores(table, f"f1_{normalisation}", where), np.nan),
        answered=np.where(answerable, answered, np.nan),
        hallucinated=_scores(table, "hallucinated", where),
        labels={name: ["" if value is None else str(value) for value in table[name].to_pylist()] for name in LABELS},
    )


def pair(candidate: Items, champion: Items) -> Paired:
    """Put two evaluations beside each other.

    Raises:
        DataInvalid: If they are not about the same items.
    """
    if candidate.ids != champion.ids:
        ours, theirs = set(candidate.ids), set(champion.ids)
        lost, new = sorted(theirs - ours), sorted(ours - theirs)
        parts = [f"{len(lost)} of the champion's are missing (first {lost[0]})"] if lost else []
        parts += [f"{len(new)} are new (first {new[0]})"] if new else []
        raise _other_items(f"the candidate was asked other questions than the champion: {', '.join(parts)}", candidate)
    for key, ours_asked, theirs_asked in zip(candidate.ids, candidate.asked, champion.asked, strict=True):
        if ours_asked != theirs_asked:
            raise _other_items(f"question {key} or its gold answers are not those the champion was asked", candidate)
    if not np.array_equal(np.isnan(candidate.f1), np.isnan(champion.f1)):
        raise _other_items("F1 applies to other items than the champion's", candidate)
    return Paired(candidate, champion)


def _other_items(what: str, candidate: Items) -> DataInvalid:
    return DataInvalid(
        what,
        where=candidate.where,
        next_step="answer these questions with the champion too (`faithline promote fetch` brings its adapters), then "
        "`faithline promote rescore`",
    )


def _scores(table: pa.Table, name: str, where: str) -> Floats:
    column = table[name].cast(pa.float64())
    values = np.array(column.to_numpy(), dtype=np.float64)
    real = values[~np.asarray(column.is_null())]
    if not ((real >= 0) & (real <= 1)).all():
        raise DataInvalid(f"`{name}` holds NaN or a value outside 0..1", where=where, next_step=_NEXT)
    return values

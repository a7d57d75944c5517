"""Predictions in a file of JSON lines, scored under both normalisations: what `faithline score` prints.

A line is an object with `id` (text or whole number), `prediction` (text, may be empty) and `answers` (list of texts, at
least one, none blank); other keys are ignored. Every line counts or the file is refused: a missing prediction, an id
that comes twice, NaN, or a question without gold answers is an error that names the line, never a zero and never a row
left out. Ids that differ in type only (1 and "1") are the same.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from faithline.metrics.answers import AnswerScores, score_many
from faithline.metrics.normalise import NORMALISATIONS
from faithline.pipeline.errors import DataInvalid
from faithline.pipeline.json_lines import json_lines

__all__ = ["COLUMNS", "Item", "Scored", "score_file"]

COLUMNS = ("em_official", "f1_official", "em_strict", "f1_strict")
_FORM = 'a line is {"id": ..., "prediction": "...", "answers": ["...", ...]}'


class Prediction(msgspec.Struct, frozen=True, gc=False):
    """One line of the file."""

    id: str | int
    prediction: str
    answers: list[str]


class Item(msgspec.Struct, frozen=True, gc=False):
    """The scores of one line."""

    id: str | int
    em_official: float
    f1_official: float
    em_strict: float
    f1_strict: float


class Scored(msgspec.Struct, frozen=True):
    """What a file scores."""

    n: int
    means: dict[str, float]
    """Column → mean over all items."""
    items: list[Item]


def score_file(path: Path) -> Scored:
    """Score a file of predictions.

    Raises:
        DataInvalid: On the first bad line, naming file and line; or if there is no file, or no line in it.
    """
    rows = _read(path)
    predictions, answers = [row.prediction for row in rows], [row.answers for row in rows]
    em, f1 = AnswerScores._fields.index("em"), AnswerScores._fields.index("f1")
    tables = [score_many(predictions, answers, normalisation)[:, [em, f1]] for normalisation in NORMALISATIONS]
    scores = np.concatenate(tables, axis=1)
    items = [Item(row.id, *values) for row, values in zip(rows, scores.tolist(), strict=True)]
    means = dict(zip(COLUMNS, (round(mean, 6) for mean in scores.mean(axis=0).tolist()), strict=True))
    return Scored(n=len(items), means=means, items=items)


def _read(path: Path) -> list[Prediction]:
    decoder = msgspec.json.Decoder(Prediction)
    rows: list[Prediction] = []
    first_at: dict[str, int] = {}
    for number, text in json_lines(path):
        try:
            row = decoder.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _bad(_worded(str(error), text), path, number) from None
        if not row.answers:
            raise _bad("no gold answers: `answers` is empty", path, number)
        if not all(answer.strip() for answer in row.answers):
            raise _bad("a gold answer is blank", path, number)
        before = first_at.setdefault(str(row.id), number)
        if before != number:
            raise _bad(f"id {row.id!r} is scored twice, first in line {before}", path, number)
        rows.append(row)
    if not rows:
        raise DataInvalid("no predictions in the file", where=str(path), next_step=_FORM)
    return rows


def _worded(message: str, text: bytes) -> str:
    if "malformed" in message and any(word in text for word in (b"NaN", b"Infinity")):
        return "NaN and infinity are no JSON values"
    missing = message.partition("missing required field `")[2].rstrip("`")
    if missing:
        return f"no `{missing}`"
    what, _, field = message.rstrip("`").partition(" - at `$.")
    what = what[:1].lower() + what[1:]
    return f"`{field}`: {what}" if field else what


def _bad(what: str, path: Path, number: int) -> DataInvalid:
    return DataInvalid(what, where=f"{path}:{number}", next_step=_FORM)

"""Reading the answers of a run: the file is checked before anything is scored.

One row per question: question_id, answerable (from the documents it was given), prediction, outcome, completion (the
model's own text) and context (ids of the documents shown, in order). A missing column, a null, a question answered
twice or an outcome nobody knows is an error, never a zero score.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from faithline.pipeline.errors import DataInvalid

__all__ = ["Outcome", "read_answers"]

Outcome = Literal["ok", "abstained", "malformed", "empty"]
"""What became of a completion: an answer; declined in the agreed form; no readable answer; nothing."""

_COLUMNS = {
    "question_id": pa.string(),
    "answerable": pa.bool_(),
    "prediction": pa.string(),
    "outcome": pa.string(),
    "completion": pa.string(),
    "context": pa.list_(pa.string()),
}
_REBUILD = "run `dvc repro answer`"


def read_answers(path: Path) -> pa.Table:
    """Read the answers to score.

    Args:
        path: `answers.parquet`; further columns are ignored.

    Returns:
        Columns question_id, answerable, prediction, outcome, completion, context.

    Raises:
        DataInvalid: If the file is missing, corrupt, empty, or breaks a rule above.
    """
    try:
        table = pq.read_table(path)
    except FileNotFoundError:
        raise DataInvalid("answers not found", where=str(path), next_step=_REBUILD) from None
    except pa.ArrowInvalid as error:
        raise DataInvalid(f"corrupt Parquet file: {error}", where=str(path), next_step=_REBUILD) from error
    missing = sorted(set(_COLUMNS) - set(table.column_names))
    if missing:
        raise DataInvalid(f"column `{missing[0]}` is missing", where=str(path), next_step=_REBUILD)
    try:
        table = table.select(list(_COLUMNS)).cast(pa.schema(_COLUMNS))
    except pa.ArrowException as error:
        raise DataInvalid(f"a column has another type: {error}", where=str(path), next_step=_REBUILD) from error
    _check_rows(table, path)
    return table.combine_chunks()


def _check_rows(table: pa.Table, path: Path) -> None:
    if table.num_rows == 0:
        raise DataInvalid("no answers", where=str(path), next_step="check the `answer` settings, then " + _REBUILD)
    for name in _COLUMNS:
        nulls = table.column(name).null_count
        if nulls:
            raise DataInvalid(f"{nulls} rows have no `{name}`", where=str(path), next_step=_REBUILD)
    counts = table.column("question_id").value_counts()
    repeated = counts.filter(pc.greater(counts.field("counts"), 1)).field("values")
    if len(repeated):
        raise DataInvalid(
            f"{len(repeated)} questions are answered more than once, the first is {repeated[0]}",
            where=str(path),
            next_step=_REBUILD,
        )
    unknown = sorted(set(table.column("outcome").unique().to_pylist()) - set(get_args(Outcome)))
    if unknown:
        raise DataInvalid(
            f"unknown outcome {unknown[0]!r}",
            where=str(path),
            next_step=f"known outcomes: {', '.join(get_args(Outcome))}",
        )

"""Which questions are answered: the asked splits and sets, at most `limit` a set.

A limited draw takes the questions whose hash under the seed is smallest, so it does not depend on the order of the file
and grows without replacing anything. A set named in the settings must have questions in the splits. Controlled noise
changes the documents of a question, and with them perhaps whether it can be answered, before anything is ranked.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from components.answer.params import Answer
from faithline.data import prepared
from faithline.noise.controlled import ControlledTally, controlled, read_pools
from faithline.noise.settings import ControlledNoise
from faithline.pipeline.errors import DataInvalid

__all__ = ["question_seed", "read_questions", "with_noise"]

_COLUMNS = ("question_id", "set", "split", "question", "documents", "supporting", "answerable")


def question_seed(seed: int, question_id: str) -> int:
    """64-bit number of a question under a seed: its place in a draw, and its random stream."""
    return int.from_bytes(hashlib.sha256(f"{seed}|{question_id}".encode()).digest()[:8], "big")


def read_questions(folder: Path, settings: Answer, seed: int) -> pa.Table:
    """Read the questions to answer, in the order of the file.

    Args:
        folder: data/prepared.
        settings: Splits, sets and limit.
        seed: Decides which questions a limit takes.

    Returns:
        Columns question_id, set, split, question, documents, supporting, answerable; at least one row.

    Raises:
        DataInvalid: There is none, or none of a set that the settings name.
    """
    table = prepared.questions(folder, sets=settings.sets, columns=_COLUMNS)
    table = table.filter(pc.is_in(table.column("split"), value_set=pa.array(settings.splits)))
    missing = sorted(set(settings.sets or ()) - set(table.column("set").unique().to_pylist()))
    if missing or not table.num_rows:
        raise DataInvalid(
            f"no questions{' of ' + ', '.join(missing) if missing else ''} in split {', '.join(settings.splits)}",
            where=str(folder / "questions.parquet"),
            next_step="change answer.sets or answer.splits, or the shares of prepare_data.sources, in params.yaml",
        )
    if settings.limit is None:
        return table
    keys = np.array([question_seed(seed, key) for key in table.column("question_id").to_pylist()], dtype=np.uint64)
    sets = table.column("set").combine_chunks().dictionary_encode().indices.to_numpy()
    order = np.lexsort((keys, sets))
    starts = np.searchsorted(sets[order], sets[order])
    drawn = np.sort(order[np.arange(len(order)) - starts < settings.limit])
    return table.take(pa.array(drawn))


def with_noise(questions: pa.Table, folder: Path, settings: ControlledNoise) -> tuple[pa.Table, ControlledTally | None]:
    """Put controlled noise into the questions' documents.

    Args:
        questions: As `read_questions` returns them.
        folder: data/prepared; distractors are drawn from the question's own set.
        settings: How much noise.

    Returns:
        The questions in the same order with other `documents`, `supporting` and `answerable`, and what became of them;
        the questions as they are, and None, where the settings ask for no noise.
    """
    if not settings.add_distractors and settings.irrelevant_share is None:
        return questions, None
    names = questions.column("set").unique().to_pylist()
    order = questions.append_column("place", pa.array(np.arange(questions.num_rows)))
    batches = (order.filter(pc.equal(order.column("set"), name)) for name in names)
    tally = ControlledTally()
    noisy = pa.concat_tables(controlled(batches, read_pools(folder, names), settings, tally))
    return noisy.sort_by("place").drop_columns("place").combine_chunks(), tally

"""The critic's claims in four parts, dealt by question.

A question's part depends on the split seed, its set and its id, by the rule of `faithline.data.splits`: head_selection
comes first, then train, validation, test. So the parts are stable under growth and re-ordering, all answers to a
question stay together, and with the seed and the shares of prepare_data the part test is its split test.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from components.compose_training.guard import Guard
from components.compose_training.params import Critic, CriticShares
from faithline.data.schema import CLAIMS, file_name
from faithline.data.splits import Splitter
from faithline.noise.stream import stream
from faithline.pipeline.errors import ConfigError, DataInvalid
from faithline.training_sets.schema import CRITIC, PARTS, Part

__all__ = ["claims_by_part", "parts"]

_TEST = PARTS.index("test")


def parts(set_name: str, ids: pa.Array, seed: int, shares: CriticShares) -> npt.NDArray[np.int64]:
    """Return the index into `PARTS` of each question.

    Args:
        set_name: The set of all of them.
        ids: Question ids, `<set>/<id>`, shape (n,).
        seed: The split seed.
        shares: Expected shares of the parts.

    Raises:
        ConfigError: If the shares do not sum to 1.
    """
    total = math.fsum((shares.head_selection, shares.train, shares.validation, shares.test))
    if abs(total - 1.0) > 1e-9:
        raise ConfigError(
            f"the shares sum to {total:.6g}, not 1",
            where="params.yaml: compose_training.critic.shares",
            next_step="make head_selection + train + validation + test = 1",
        )
    names = [key.removeprefix(f"{set_name}/") for key in ids.to_pylist()]
    learned = shares.head_selection + shares.train
    # The same key against the bounds of the first two parts, then against those of the last two.
    early = Splitter(seed, set_name, (shares.head_selection, shares.train, max(1.0 - learned, 0.0)))
    late = Splitter(seed, set_name, (learned, shares.validation, max(1.0 - learned - shares.validation, 0.0)))
    coarse = late.assign(names).astype(np.int64)
    fine = np.minimum(early.assign(names).astype(np.int64), 1)
    return np.where(coarse == 0, fine, coarse + 1)


def claims_by_part(
    prepared: Path, settings: Critic, guard: Guard, left_out: Counter[str]
) -> Iterator[tuple[str, Part, pa.Table]]:
    """Stream the claims: set, part and rows of CRITIC.

    Args:
        prepared: The folder data/prepared.
        settings: Sets, seed and shares.
        guard: Knows the questions that must not be learned.
        left_out: Counts by set what the guard left out.

    Raises:
        ConfigError: If the shares do not sum to 1.
        DataInvalid: If the table cannot be read, or a question of split test is in another part than test.
    """
    columns = [field.name for field in CLAIMS if field.name != "set"]
    for batch in stream(prepared, "claims", columns, "question"):
        if batch.set_name not in settings.sets:
            continue
        index = parts(batch.set_name, batch.rows.column("question_id"), settings.split_seed, settings.shares)
        for number, part in enumerate(PARTS):
            rows = batch.rows.filter(pa.array(index == number))
            if number != _TEST:
                _refuse_test(prepared, rows, part)
                rows = guard.without_shared(rows, batch.set_name, left_out)
            if rows.num_rows:
                yield batch.set_name, part, pa.Table.from_batches([rows.select(CRITIC.names)]).cast(CRITIC)


def _refuse_test(prepared: Path, rows: pa.RecordBatch, part: Part) -> None:
    held_out = rows.filter(pc.equal(rows.column("split"), "test"))
    if held_out.num_rows:
        raise DataInvalid(
            f"question {held_out.column('question_id')[0]} is of split test, but of the critic's part {part}",
            where=str(prepared / file_name("claims")),
            next_step="in params.yaml, make compose_training.critic (split_seed, shares) agree with prepare_data "
            "(split_seed, the set's shares: test no larger than the critic's), or take the set out of critic.sets",
        )

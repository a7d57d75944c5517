"""Supervised rows per role: which questions each role draws, and the rows made of a batch of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from components.compose_training import attention_roles, eligible, march_roles
from components.compose_training.case import Case, SftRow
from components.compose_training.draws import Destination, Flags
from components.compose_training.params import Rows, Sft
from components.compose_training.shown import Shown
from faithline.agents.passage import Passage
from faithline.noise.text.hashing import Words
from faithline.training_sets.schema import SFT, Role

__all__ = ["SftDraw", "cases", "sft_draws", "sft_table"]


@dataclass(frozen=True)
class SftDraw:
    """Questions that one role draws, and what it makes of each."""

    role: Role
    destination: Destination
    make: Callable[[Case], SftRow | str]
    """The row, or the reason why there is none."""


def sft_draws(settings: Sft) -> list[SftDraw]:
    """Return the draws of all roles."""

    def draw(
        role: Role,
        rows: Rows,
        usable: Callable[[pa.RecordBatch], Flags],
        make: Callable[[Case], SftRow | str],
        name: str = "",
    ) -> SftDraw:
        limits = {"train": rows.train, "validation": rows.validation}
        return SftDraw(role, Destination(f"sft.{role}{name}", settings.sets, limits, usable), make)

    planner, selector, generator, checker = settings.planner, settings.selector, settings.generator, settings.checker
    silent = settings.proposer.without_numbers
    return [
        draw("planner", planner, eligible.has_plan, lambda case: attention_roles.planner(case, planner)),
        draw("selector", selector, eligible.is_labelled, lambda case: attention_roles.selector(case, selector)),
        draw("generator", generator, eligible.is_labelled, lambda case: attention_roles.generator(case, generator)),
        draw("solver", settings.solver, eligible.is_labelled, march_roles.solver),
        draw("proposer", settings.proposer, eligible.has_number, march_roles.proposer),
        draw("proposer", silent, eligible.has_no_number, march_roles.silent_proposer, ".without_numbers"),
        draw("checker", checker, eligible.has_numeric_step, lambda case: march_roles.checker(case, checker)),
    ]


def cases(rows: pa.RecordBatch, shown: Shown, keys: Words, wanted: Flags) -> dict[int, Case]:
    """Return the wanted rows of the questions table as cases, by row.

    Args:
        rows: Of the questions table.
        shown: Their documents.
        keys: Their hashes, shape (n,).
        wanted: Which of them, shape (n,).
    """
    passages = [Passage(**document) for document in shown.documents.to_pylist()]
    flags = shown.flags.to_pylist()
    ends = np.searchsorted(shown.owners, np.arange(rows.num_rows + 1))
    columns = {name: rows.column(name).to_pylist() for name in ("question", "answers", "answerable", "plan")}
    return {
        row: Case(
            question=columns["question"][row],
            answers=tuple(columns["answers"][row]),
            answerable=columns["answerable"][row],
            plan=tuple(columns["plan"][row]),
            passages=tuple(passages[ends[row] : ends[row + 1]]),
            flags=tuple(flags[ends[row] : ends[row + 1]]),
            order=int(keys[row]),
        )
        for row in np.flatnonzero(wanted).tolist()
    }


def sft_table(
    draw: SftDraw, drawn: Flags, found: Mapping[int, Case], rows: pa.RecordBatch
) -> tuple[pa.Table, Counter[str]]:
    """Return a role's rows of some questions, and by reason how many of them give none.

    Args:
        draw: The role's draw.
        drawn: Which of the questions it has drawn, shape (n,).
        found: The questions as cases, by row.
        rows: The questions.
    """
    places: list[int] = []
    made: list[SftRow] = []
    left_out: Counter[str] = Counter()
    for place in np.flatnonzero(drawn).tolist():
        row = draw.make(found[place])
        if isinstance(row, str):
            left_out[row] += 1
        else:
            places.append(place)
            made.append(row)
    picked = rows.take(pa.array(places, pa.int64()))
    columns = {
        "role": pa.array([draw.role] * len(made), pa.string()),
        "question_id": picked.column("question_id"),
        "set": picked.column("set"),
        "order": pa.array([found[place].order for place in places], pa.uint64()),
        "question": pa.array([row.question for row in made], pa.string()),
        "documents": pa.array(
            [[{"document_id": p.document_id, "title": p.title, "text": p.text} for p in row.documents] for row in made],
            SFT.field("documents").type,
        ),
        "response": pa.array([row.response for row in made], pa.string()),
        "pairs": pa.array(
            [[{"question": p.question, "answer": p.answer, "evidence": p.evidence} for p in row.pairs] for row in made],
            SFT.field("pairs").type,
        ),
        "target": pa.array([row.target for row in made], pa.string()),
    }
    return pa.table(columns, schema=SFT), left_out

"""From data/training to questions: those to train on, those held out, and those that canaries are made of.

Questions come in the order in which compose_training drew them, so a larger limit keeps those of a smaller one. What
cannot be shown to the Solver even without documents is left out and counted; nothing left is an error of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from components.train_march.params import Data
from faithline.agents.passage import Passage
from faithline.march.roles import Question
from faithline.pipeline.errors import DataInvalid
from faithline.training_sets.schema import TrainingSplit, march_file, sft_file

__all__ = ["Questions", "numeric_questions", "read_questions"]


_ASKS_NUMBER = (
    r"\b(?:how (?:many|much|long|high|tall|far|old|large|big|deep|wide|heavy)|when|years?|dates?|numbers?|percent"
    r"|percentage|share|rate|length|height|elevation|population|weight|mass|age|distance"
    r"|in (?:\w+ )?\w*(?:metres|meters|litres|liters|grams|daltons|miles|feet))\b"
)


@dataclass(frozen=True)
class Questions:
    """Questions of one split."""

    kept: list[Question]
    too_long: int
    """Left out: the query alone exceeds the limit."""


def read_questions(
    folder: Path, split: TrainingSplit, settings: Data, too_long: Callable[[Question], bool]
) -> Questions:
    """Read the questions of a split, domain after domain.

    Args:
        folder: data/training/march.
        split: Which questions.
        settings: Domains and limits.
        too_long: Whether a question cannot be shown.

    Raises:
        DataInvalid: There is none, or none that can be shown.
    """
    limit = settings.train if split == "train" else settings.validation
    read: list[Question] = []
    for domain in settings.domains:
        table = pq.read_table(folder / march_file(domain, split)).sort_by("order")
        if settings.questions == "numeric":
            table = table.filter(pc.match_substring_regex(table.column("query"), _ASKS_NUMBER, ignore_case=True))
        read += [_question(row, row["query"]) for row in table[:limit].to_pylist()]
    kept = [question for question in read if not too_long(question)]
    if not kept:
        longer = f"all {len(read)} questions are longer than march.ppo.rollout.max_prompt_tokens"
        what = longer if read else "no question"
        raise DataInvalid(
            f"{what} in split {split} of {', '.join(settings.domains)}",
            where=str(folder),
            next_step="raise march.ppo.rollout.max_prompt_tokens, or choose other march.data.domains",
        )
    return Questions(kept, len(read) - len(kept))


def numeric_questions(folder: Path) -> Iterator[tuple[Question, str]]:
    """Yield questions with the number that answers them, from the Checker's training rows.

    Args:
        folder: data/training/sft.
    """
    table = pq.read_table(folder / sft_file("checker", "train"), columns=["question_id", "order", "documents", "pairs"])
    for row in table.sort_by("order").to_pylist():
        for pair in row["pairs"]:
            if pair["answer"]:
                yield _question(row, pair["question"]), pair["answer"]


def _question(row: Mapping[str, Any], query: str) -> Question:
    return Question(row["question_id"], query, tuple(Passage(**document) for document in row["documents"]))

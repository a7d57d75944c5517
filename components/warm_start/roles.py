"""Roles that learn from data/training/sft: rows to prompts and completions, in the very words that the role will meet.

A row holds fields, and the role's own prompt builder (`faithline.agents`) renders them, the one place of its wording.
Documents that the completion quotes are never left out; of the others as many are shown as the settings say, and fewer
where the example would be too long. Rows come in the order in which compose_training drew them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from components.warm_start.example_sets import Example, example
from components.warm_start.params import DocumentRows, ProposerRows, Rows
from faithline.agents.march import checker, proposer, solver
from faithline.agents.march.blinding import Pair, blind
from faithline.agents.passage import Passage, one_line
from faithline.lm.chat import Chat
from faithline.pipeline.errors import DataInvalid
from faithline.training_sets.schema import Role, TrainingSplit, sft_file

__all__ = ["role_examples"]

Row = Mapping[str, Any]
Messages = Sequence[Mapping[str, str]]
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_TELLING = 12
"""Characters from which a common piece of text is no chance: an initial or an abbreviation is shorter."""

Builder = Callable[[Row, Rows, Sequence[Passage]], Messages]
"""Makes a role's messages of a row, its settings and the documents to show."""


def _solver(row: Row, _settings: Rows, passages: Sequence[Passage]) -> Messages:
    return solver.messages(row["question"], passages)


def _proposer(row: Row, settings: Rows, _passages: Sequence[Passage]) -> Messages:
    if not isinstance(settings, ProposerRows):
        raise TypeError("not the Proposer's settings")
    query = row["question"] if settings.sees_query else None
    return proposer.messages(row["response"], query, min_pairs=settings.min_pairs, max_pairs=settings.max_pairs)


def _checker(row: Row, _settings: Rows, passages: Sequence[Passage]) -> Messages:
    pairs = [Pair(pair["question"], pair["answer"]) for pair in row["pairs"]]
    return checker.messages(blind(pairs).questions, passages)


_BUILDERS: dict[Role, Builder] = {"solver": _solver, "proposer": _proposer, "checker": _checker}


def role_examples(
    folder: Path, role: Role, split: TrainingSplit, settings: Rows, *, max_length: int, chat: Chat
) -> Iterator[Example | str]:
    """Yield a role's examples in the order drawn, or why a row gives none.

    Args:
        folder: data/training/sft.
        role: Whose rows.
        split: Which rows.
        settings: Of the role.
        max_length: Tokens of an example.
        chat: The backbone's chat template.

    Raises:
        DataInvalid: A set that the settings name has no row.
    """
    path = folder / sft_file(role, split)
    table = pq.read_table(path)
    if settings.sets is not None:
        missing = sorted(set(settings.sets) - set(table.column("set").unique().to_pylist()))
        if missing:
            raise DataInvalid(
                f"no rows of set {', '.join(missing)}",
                where=str(path),
                next_step="name sets of which compose_training makes rows, or null for all",
            )
        table = table.filter(pc.is_in(table.column("set"), value_set=pa.array(settings.sets, pa.string())))
    for row in table.sort_by("order").to_pylist():
        yield _encode(chat, row, settings, _BUILDERS[role], max_length)


def _encode(
    chat: Chat, row: Row, settings: Rows, build: Builder, max_length: int
) -> Example | str:  # fmt: skip
    """Tokenise a row, with as many documents beside the needed ones as fit."""
    completion = chat.completion(row["target"])
    passages = [Passage(**document) for document in row["documents"]]
    needed = [_quoted(passage, row["target"]) for passage in passages]
    extra = settings.distractors if isinstance(settings, DocumentRows) else 0
    for spare in range(min(extra, needed.count(False)), -1, -1):
        prompt = chat.prompt(build(row, settings, _shown(passages, needed, spare)))
        if len(prompt) + len(completion) <= max_length:
            return example(prompt, completion)
    return "too_long"


def _shown(passages: Sequence[Passage], needed: Sequence[bool], spare: int) -> list[Passage]:
    """The needed passages and the first `spare` others, in their order."""
    shown = []
    for passage, is_needed in zip(passages, needed, strict=True):
        if is_needed or spare > 0:
            shown.append(passage)
            spare -= not is_needed
    return shown


def _quoted(passage: Passage, target: str) -> bool:
    """Whether a completion holds a sentence of a passage."""
    parts = _SENTENCE_END.split(one_line(passage.text))
    return any(len(part) >= _TELLING and part in target for part in parts)

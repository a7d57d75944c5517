"""The grounded-answer role: from prepared questions to token ids.

An example shows a question with its gold passages and some distractors in a shuffled order, and teaches the canonical
answer, or the abstention where the documents do not hold one. Prompt and completion are tokenised apart and only the
completion is labelled, so no search in text decides what is learned. Every draw depends on the seed and the question's
id alone: a question keeps its context whatever other questions there are. Gold passages are never cut: when an example
is too long distractors give way, and what is still too long is left out and counted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from components.warm_start.example_sets import Example, example
from components.warm_start.params import DocumentRows
from faithline.agents.answer import messages, target
from faithline.agents.passage import Passage
from faithline.data import prepared
from faithline.data.schema import Split
from faithline.lm.chat import Chat

__all__ = ["Case", "answers", "encode", "read_cases"]

_COLUMNS = ("question_id", "question", "answers", "answerable", "documents", "supporting")


@dataclass(frozen=True)
class Case:
    """One question with its evidence, before tokenisation."""

    question: str
    passages: tuple[Passage, ...]
    """Gold passages and distractors in the order to show."""
    optional: tuple[int, ...]
    """Positions in `passages` that may be left out, the first to go first."""
    answer: str | None
    """Canonical answer; None where the documents do not hold one."""


def answers(
    folder: Path, split: Split, settings: DocumentRows, *, max_length: int, seed: int, chat: Chat
) -> Iterator[Example | str]:
    """Yield a split's examples in the order drawn by seed, or why a question gives none.

    Args:
        folder: data/prepared.
        split: Which questions.
        settings: Sets and distractors.
        max_length: Tokens of an example.
        seed: Decides which questions and contexts are drawn.
        chat: The backbone's chat template.
    """
    for case in read_cases(folder, split, settings, seed):
        yield case if isinstance(case, str) else encode(chat, case, max_length)


def read_cases(folder: Path, split: Split, settings: DocumentRows, seed: int) -> Iterator[Case | str]:
    """Yield the questions of a split in an order drawn by seed: a case, or the reason why there is none."""
    table = prepared.questions(folder, split=split, sets=settings.sets, columns=_COLUMNS)
    documents = prepared.documents(folder, sets=settings.sets)
    keys = [_key(seed, question_id) for question_id in table.column("question_id").to_pylist()]
    for position in np.argsort(np.array(keys, dtype=np.uint64), kind="stable").tolist():
        row = {name: table.column(name)[position].as_py() for name in _COLUMNS}
        yield _case(row, documents, settings.distractors, np.random.default_rng(keys[position]))


def _key(seed: int, question_id: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}|{question_id}".encode()).digest()[:8], "big")


def _case(
    row: Mapping[str, Any], documents: prepared.Documents, distractors: int, random: np.random.Generator
) -> Case | str:
    if row["answerable"] and not any(answer.strip() for answer in row["answers"][:1]):
        return "no_answer"
    roles: dict[str, bool | None] = {}
    for document, role in zip(row["documents"], row["supporting"], strict=True):
        roles[document] = roles.get(document) or role
    passages = {document: Passage(*documents[document]) for document in roles}
    # A document whose role is unknown may hold the evidence, so it is kept like a gold one.
    with_text = [document for document in roles if passages[document].text.strip()]
    gold = [passages[document] for document in with_text if roles[document] is not False]
    other = [passages[document] for document in with_text if roles[document] is False]
    if row["answerable"] and not gold:
        return "no_evidence"
    drawn = [other[place] for place in random.permutation(len(other))[:distractors]]
    order = random.permutation(len(gold) + len(drawn))
    pool: Sequence[Passage] = [*gold, *drawn]
    return Case(
        question=row["question"],
        passages=tuple(pool[place] for place in order),
        optional=tuple(position for position, place in enumerate(order.tolist()) if place >= len(gold)),
        answer=row["answers"][0] if row["answerable"] else None,
    )


def encode(chat: Chat, case: Case, max_length: int) -> Example | str:
    """Tokenise a case, with as many of its distractors as fit.

    Returns:
        `input_ids` and `labels` (the prompt's are `IGNORED`), or the reason why there are none.
    """
    try:
        completion = chat.completion(target(case.answer))
    except ValueError:  # an answer of asterisks or unprintable characters alone
        return "no_answer"
    for dropped in range(len(case.optional) + 1):
        hidden = set(case.optional[:dropped])
        passages = [passage for position, passage in enumerate(case.passages) if position not in hidden]
        prompt = chat.prompt(messages(case.question, passages))
        if len(prompt) + len(completion) <= max_length:
            return example(prompt, completion)
    return "too_long"

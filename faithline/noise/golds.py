"""Contradicting golds: the same normalised question with gold answers that have nothing in common.

The pass keeps two hashes a question: of the question, and of its set of answers. Only where equal questions have
unequal answer sets are the answers read again and compared, in lower case, without articles and punctuation.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from faithline.noise.groups import repeated
from faithline.noise.stream import pick
from faithline.noise.text.hashing import Words, mix

__all__ = ["Golds"]

Ints = npt.NDArray[np.int64]

_ARTICLES = frozenset({"a", "an", "the"})


class Golds:
    """Questions by row of the questions table."""

    def __init__(self) -> None:
        self._questions: list[Words] = []
        self._answers: list[Words] = []

    def add(self, questions: Words, answers: Words, counts: Ints) -> None:
        """Add a batch: hash of each question, hashes of all answers, and how many answers each question has."""
        upto = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mix(answers))])
        ends = np.cumsum(counts)
        self._questions.append(questions)
        self._answers.append(upto[ends] - upto[ends - counts])

    def contradicting(self, prepared: Path) -> dict[str, list[str]]:
        """Return the ids of questions that have an equal question with other golds, per set, in order of the table."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        rows = self._candidates()
        columns = ["question_id", "question", "answers"]
        groups: defaultdict[str, list[tuple[str, str, frozenset[str]]]] = defaultdict(list)
        for row in pick(prepared, "questions", columns, rows):
            answers = frozenset(_normal(answer) for answer in _strings(row["answers"]))
            if answers:
                groups[_normal(str(row["question"]))].append((str(row["set"]), str(row["question_id"]), answers))
        for members in groups.values():
            kinds = {answers for _, _, answers in members}
            alone = {answers for answers in kinds if any(answers.isdisjoint(other) for other in kinds)}
            for set_name, question_id, answers in members:
                if answers in alone:
                    found[set_name].append(question_id)
        return {name: sorted(ids) for name, ids in found.items()}

    def _candidates(self) -> Ints:
        """Return the rows of equal questions whose answer sets are not all equal."""
        none = np.zeros(0, np.uint64)
        questions, answers = np.concatenate([none, *self._questions]), np.concatenate([none, *self._answers])
        groups = repeated(questions)
        if not len(groups.rows):
            return groups.rows
        members = answers[groups.rows]
        low, high = (ufunc.reduceat(members, groups.starts) for ufunc in (np.minimum, np.maximum))
        mixed: Ints = groups.rows[(low != high)[groups.owners()]]
        return mixed


def _strings(value: object) -> Sequence[str]:
    return value if isinstance(value, list) else []


def _normal(text: str) -> str:
    return " ".join(word for word in re.findall(r"\w+", text.lower()) if word not in _ARTICLES)

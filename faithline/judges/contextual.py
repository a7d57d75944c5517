"""ContextualJudgeBench's protocol: which of two responses is better, by the criterion of the pair's split.

Every pair is shown twice with its positions swapped, and counts as right only when the better response wins in both
places (the benchmark's consistent accuracy, arXiv 2503.15620); a judge that always says A is right in one order each
and never here. It measures judges, not answers: what a judge reaches here is what its verdicts are worth. A reply
without a choice is a failure, of the pair: it is in no denominator and counted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

__all__ = ["SPLITS", "Choice", "PairVerdict", "Rates", "Split", "pair_verdict", "parse", "prompts", "rates", "split_of"]

Choice = Literal["A", "B"]
Split = Literal[
    "refusal_answerable",
    "refusal_unanswerable",
    "faithfulness_qa",
    "faithfulness_summ",
    "completeness_qa",
    "completeness_summ",
    "conciseness_qa",
    "conciseness_summ",
]
SPLITS: dict[tuple[str, str], Split] = {
    ("refusal_answerable", "qa"): "refusal_answerable",
    ("refusal_unanswerable", "qa"): "refusal_unanswerable",
    ("faithfulness", "qa"): "faithfulness_qa",
    ("faithfulness", "summary"): "faithfulness_summ",
    ("completeness", "qa"): "completeness_qa",
    ("completeness", "summary"): "completeness_summ",
    ("conciseness", "qa"): "conciseness_qa",
    ("conciseness", "summary"): "conciseness_summ",
}
"""Criterion and task of the prepared table `judgements` → split."""
_CRITERIA = {
    "refusal": "refusal validity: declining is right exactly when the context does not hold what is asked",
    "faithfulness": "faithfulness: every factual statement can be attributed to the context",
    "completeness": "completeness: all parts of what is asked are addressed",
    "conciseness": "conciseness: nothing beyond what is needed to address what is asked",
}
_CHOICE = re.compile(r"final choice\W{0,6}:\W{0,6}([AB])\b(?!\W*[/|])", re.IGNORECASE)


def split_of(criterion: str, task: str) -> Split:
    """Name the split of a pair.

    Raises:
        ValueError: If there is none.
    """
    try:
        return SPLITS[criterion, task]
    except KeyError:
        raise ValueError(f"no split of ContextualJudgeBench has criterion {criterion!r} and task {task!r}") from None


def prompts(split: Split, query: str, context: str, preferred: str, rejected: str) -> tuple[str, str]:
    """Write both prompts of a pair: the better response as A, then as B."""
    rule = _CRITERIA[split.partition("_")[0]]
    head = (
        "Two responses to the same request are given, with the context they should rest on. Decide which one is better "
        f"by {rule}. Ignore their order, their length where it is not the criterion, and your own knowledge."
    )
    asked = f"Request:\n{query.strip() or 'Summarise the context.'}\n\nContext:\n{context.strip()}"
    end = 'Reason first, then end with one line and nothing after it: "Final choice: [A / B]"'

    def one(first: str, second: str) -> str:
        return f"{head}\n\n{asked}\n\nResponse A:\n{first.strip()}\n\nResponse B:\n{second.strip()}\n\n{end}\n"

    return one(preferred, rejected), one(rejected, preferred)


def parse(text: str) -> Choice | None:
    """Read the choice that a reply ends with; None where there is none."""
    found = _CHOICE.findall(text)
    return None if not found else "A" if found[-1].upper() == "A" else "B"


@dataclass(frozen=True)
class PairVerdict:
    """How a judge did on one pair."""

    first: bool
    """The better response won as A."""
    second: bool
    """It won as B."""

    @property
    def right(self) -> bool:
        """It won in both places."""
        return self.first and self.second

    @property
    def consistent(self) -> bool:
        """The same response won in both places."""
        return self.first == self.second


def pair_verdict(first: Choice | None, second: Choice | None) -> PairVerdict | None:
    """Read the choices on both prompts of `prompts`; None if either failed."""
    return None if first is None or second is None else PairVerdict(first == "A", second == "B")


class Rates(msgspec.Struct, frozen=True):
    """Shares over the pairs that were judged in both orders."""

    n: int
    failed: int
    accuracy: float | None
    """Consistent accuracy."""
    consistent: float | None
    as_first: float | None
    """Accuracy with the better response as A."""
    as_second: float | None


def rates(verdicts: Sequence[PairVerdict | None]) -> Rates:
    """Count the verdicts of one split."""
    there = [verdict for verdict in verdicts if verdict is not None]
    n = len(there)

    def share(held: Sequence[bool]) -> float | None:
        return round(sum(held) / n, 6) if n else None

    return Rates(
        n=n,
        failed=len(verdicts) - n,
        accuracy=share([verdict.right for verdict in there]),
        consistent=share([verdict.consistent for verdict in there]),
        as_first=share([verdict.first for verdict in there]),
        as_second=share([verdict.second for verdict in there]),
    )

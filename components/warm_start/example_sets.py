"""Sets of tokenised examples: what one adapter learns from, put together role by role.

An example is `input_ids` and `labels`; only the completion is labelled. Each role brings as many of its examples as the
settings ask for, in the order in which they were drawn, and counts what it leaves out. A role without any example in a
split that it is asked for is an error: the adapter would be trained without it in silence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from faithline.pipeline.errors import DataInvalid

__all__ = ["IGNORED", "Example", "ExampleSet", "example", "joined", "taken"]

IGNORED = -100
"""Label of positions that are not learned."""

Example = dict[str, list[int]]


def example(prompt: list[int], completion: list[int]) -> Example:
    """Join a prompt and the completion to learn."""
    return {"input_ids": prompt + completion, "labels": [IGNORED] * len(prompt) + completion}


@dataclass(frozen=True)
class ExampleSet:
    """Tokenised examples of one split."""

    rows: list[Example]
    """Each with `input_ids` and `labels` of the same length."""
    skipped: Mapping[str, int]
    """Examples left out, by role and reason."""

    @property
    def tokens(self) -> int:
        """Tokens of all examples."""
        return sum(len(row["input_ids"]) for row in self.rows)

    @property
    def learned(self) -> int:
        """Tokens that are learned."""
        return sum(label != IGNORED for row in self.rows for label in row["labels"])


def taken(found: Iterable[Example | str], limit: int, *, role: str, split: str, where: str) -> ExampleSet:
    """Take a role's first examples.

    Args:
        found: Examples, or reasons why there is none, in the order drawn.
        limit: Most examples.
        role: Whose they are.
        split: Whose they are.
        where: What they are read from.

    Raises:
        DataInvalid: There is not one.
    """
    rows: list[Example] = []
    skipped: Counter[str] = Counter()
    for one in found:
        if isinstance(one, str):
            skipped[f"{role}_{one}"] += 1
        else:
            rows.append(one)
            if len(rows) == limit:
                break
    if not rows:
        reasons = ", ".join(f"{reason}: {count}" for reason, count in sorted(skipped.items())) or "there is none"
        raise DataInvalid(
            f"role {role} has nothing to learn in split {split} ({reasons})",
            where=where,
            next_step="raise the adapter's max_length in params.yaml: warm_start.adapters, choose other sets, or leave "
            "the role out",
        )
    return ExampleSet(rows=rows, skipped=dict(sorted(skipped.items())))


def joined(parts: Sequence[ExampleSet]) -> ExampleSet:
    """Put the roles of one adapter together."""
    skipped = {name: count for part in parts for name, count in part.skipped.items()}
    return ExampleSet(rows=[row for part in parts for row in part.rows], skipped=skipped)

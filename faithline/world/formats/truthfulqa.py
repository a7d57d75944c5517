"""TruthfulQA's CSV with its 790 rows' columns; several answers in a cell are joined by "; "."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from faithline.world.truthful import TruthfulItem

__all__ = ["HEADER", "truthfulqa_rows"]

HEADER = (
    "Type",
    "Category",
    "Question",
    "Best Answer",
    "Best Incorrect Answer",
    "Correct Answers",
    "Incorrect Answers",
    "Source",
)


def truthfulqa_rows(items: Iterable[TruthfulItem], *, evidence: bool) -> Iterator[tuple[str, ...]]:
    """Rows of the file; with `evidence`, the passages stand in front of the question."""
    for item in items:
        notes = " ".join(passage.text for passage in item.passages)
        yield (
            "Adversarial" if item.adversarial else "Non-Adversarial",
            item.category,
            f"{notes} {item.question}" if evidence else item.question,
            item.true_answers[item.best],
            item.false_answers[item.best],
            "; ".join(item.true_answers),
            "; ".join(item.false_answers),
            f"http://faithline.invalid/world/{item.cluster}/{item.place}#{item.template}",
        )

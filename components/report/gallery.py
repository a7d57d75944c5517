"""The error gallery: the worst answers of each set, with the evidence the model was shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from components.report.highlight import Part, highlight
from faithline.data.prepared import Documents
from faithline.metrics.normalise import Normalisation

__all__ = ["Case", "ShownPassage", "worst"]


@dataclass(frozen=True)
class ShownPassage:
    """A passage that the model read."""

    title: str
    parts: Sequence[Part]
    """Its text, cut to the length asked for, with the words of both answers marked."""
    cut: bool
    evidence: bool
    """Whether it is marked as gold evidence."""


@dataclass(frozen=True)
class Case:
    """One bad answer."""

    question_id: str
    question: str
    kind: str
    """Question type and number of hops, as far as known."""
    answers: Sequence[str]
    answerable: bool
    prediction: str
    outcome: str
    completion: str
    """What the model wrote, also where no answer could be read from it."""
    em: float
    f1: float
    passages: Sequence[ShownPassage]
    not_shown: Sequence[str]
    """Titles of gold evidence that the model did not get."""


def worst(
    items: pa.Table, documents: Documents, normalisation: Normalisation, per_set: int, characters: int
) -> dict[str, list[Case]]:
    """Pick the items with the lowest F1 of each set, none that is fully right.

    Among equals those come first that had all their evidence before them (there the model alone is at fault), then
    given answers before refusals and failures; then by id.

    Args:
        items: As the stage `evaluate` writes them.
        documents: The prepared documents.
        normalisation: Rule behind EM and F1.
        per_set: Most items of a set.
        characters: Characters shown of each passage.

    Returns:
        Set → cases; sets without a wrong answer are left out.
    """
    wrong = items.filter(pc.less(items[f"f1_{normalisation}"], 1.0))
    ranked = wrong.append_column("answered", pc.equal(wrong["outcome"], "ok")).sort_by(
        [
            ("set", "ascending"),
            (f"f1_{normalisation}", "ascending"),
            ("context_recall", "descending"),
            ("answered", "descending"),
            ("question_id", "ascending"),
        ]
    )
    found: dict[str, list[Case]] = {}
    for name in pc.unique(ranked["set"]).to_pylist():
        rows = ranked.filter(pc.equal(ranked["set"], name)).slice(0, per_set)
        cases = [_case(row, documents, normalisation, characters) for row in rows.to_pylist()]
        found |= {name: cases} if cases else {}
    return found


def _case(row: dict[str, Any], documents: Documents, normalisation: Normalisation, characters: int) -> Case:
    evidence = set(row["supporting_documents"])
    hops = f"{row['hops']} hops" if row["hops"] is not None else ""
    return Case(
        question_id=row["question_id"],
        question=row["question"],
        kind=", ".join(part for part in (row["question_type"], hops) if part),
        answers=row["answers"],
        answerable=row["answerable"],
        prediction=row["prediction"],
        outcome=row["outcome"],
        completion=row["completion"][:characters],
        em=row[f"em_{normalisation}"],
        f1=row[f"f1_{normalisation}"],
        passages=[
            ShownPassage(
                title,
                highlight(text[:characters], row["answers"], row["prediction"]),
                len(text) > characters,
                key in evidence,
            )
            for key, title, text in _look_up(documents, row["context"])
        ],
        not_shown=[
            title or "(untitled)"
            for key, title, _ in _look_up(documents, row["supporting_documents"])
            if key not in row["context"]
        ],
    )


def _look_up(documents: Documents, ids: Sequence[str]) -> list[tuple[str, str, str]]:
    rows = documents.take(list(ids)).to_pylist()
    return [(key, row["title"], row["text"]) for key, row in zip(ids, rows, strict=True)]

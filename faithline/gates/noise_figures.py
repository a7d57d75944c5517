"""The figures that gates take from the noise statistics, which measure what one pass over the tables cannot.

What leaks of a set of questions or claims is the question. Responses and judgements answer few fixed instructions, so
what leaks of them is the source: their documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from faithline.gates.tally import Measured, Profile
from faithline.pipeline.errors import DataInvalid

__all__ = [
    "FROM_NOISE",
    "LEAKED_EXACT",
    "LEAKED_NGRAM",
    "NEAR_DUPLICATES",
    "NoiseFigures",
    "read_figures",
    "with_noise",
]

NEAR_DUPLICATES = "share of near-duplicates"
LEAKED_EXACT = "share leaked (exact)"
LEAKED_NGRAM = "share leaked (n-gram)"
FROM_NOISE = ("max_near_duplicates", "max_leaked_exact", "max_leaked_ngram")
"""The limits that are held against these figures."""
_LEAKING = {
    "questions": "questions.question",
    "claims": "claims.question",
    "responses": "responses.documents",
    "judgements": "judgements.documents",
}


@dataclass(frozen=True)
class NoiseFigures:
    """Shares of one set; None = not measured, which fails a check that asks for it."""

    near_duplicates: float | None
    """Documents that nearly equal an earlier one, of all documents."""
    leaked_exact: float | None
    """Evaluation questions that are also in training data, of all; of responses and judgements: documents."""
    leaked_ngram: float | None
    """The same for those that share a run of words with training data."""


class _Finding(msgspec.Struct):
    share: float


class _Documents(msgspec.Struct):
    near_duplicates: _Finding


class _Leaked(msgspec.Struct):
    exact: _Finding
    ngram: _Finding


class _Leakage(msgspec.Struct):
    questions: _Leaked
    documents: _Leaked


class _Set(msgspec.Struct):
    leakage: _Leakage
    documents: _Documents | None = None


class _Report(msgspec.Struct):
    """The part of the noise statistics that is read here."""

    sets: dict[str, _Set]


def read_figures(path: Path, declared: Mapping[str, Mapping[str, int | None]]) -> dict[str, NoiseFigures]:
    """Read the figures of each set from the JSON of the noise statistics.

    Args:
        path: The file.
        declared: Set to table to rows.

    Raises:
        DataInvalid: If the file is missing or does not hold the figures.
    """
    try:
        report = msgspec.json.decode(path.read_bytes(), type=_Report)
    except (FileNotFoundError, msgspec.DecodeError) as error:
        raise DataInvalid(
            f"no noise statistics: {error}", where=str(path), next_step="run `dvc repro prepare_data`"
        ) from error
    figures = {}
    for name, found in report.sets.items():
        asked = {"questions", "claims"} & set(declared.get(name, {}))
        leaked = found.leakage.questions if asked else found.leakage.documents
        figures[name] = NoiseFigures(
            near_duplicates=found.documents.near_duplicates.share if found.documents else None,
            leaked_exact=leaked.exact.share,
            leaked_ngram=leaked.ngram.share,
        )
    return figures


def with_noise(profile: Profile, tables: Mapping[str, int | None], figures: NoiseFigures) -> Profile:
    """Return a set's profile with its noise figures beside the other measures of their columns."""
    columns = {column: dict(measures) for column, measures in profile.items()}
    if "documents" in tables:
        columns.setdefault("documents.text", {})[NEAR_DUPLICATES] = Measured(figures.near_duplicates)
    for table, column in _LEAKING.items():
        if table in tables:
            measures = columns.setdefault(column, {})
            measures[LEAKED_EXACT] = Measured(figures.leaked_exact)
            measures[LEAKED_NGRAM] = Measured(figures.leaked_ngram)
    return columns

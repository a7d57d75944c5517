"""The few figures of a check that `dvc metrics` compares between runs; everything else is in the reports."""

from __future__ import annotations

from collections.abc import Mapping

from faithline.gates.gate import GateResult
from faithline.noise.lengths import ALL
from faithline.noise.table import value_at

__all__ = ["flat_metrics"]

_PER_SET = {
    "irrelevant_documents": ("questions", "splits", ALL, "irrelevant_documents", "ratio"),
    "unanswerable": ("questions", "splits", ALL, "unanswerable", "share"),
    "contradicting_golds": ("questions", "contradicting_golds", "share"),
    "near_duplicates": ("documents", "near_duplicates", "share"),
    "empty_documents": ("documents", "empty", "share"),
    "wrong_offsets": ("responses", "labels", "wrong_offsets", "share"),
    "leaked_questions_exact": ("leakage", "questions", "exact", "share"),
    "leaked_questions_ngram": ("leakage", "questions", "ngram", "share"),
}


def flat_metrics(result: GateResult, noise: Mapping[str, object]) -> dict[str, float | int]:
    """Lay out counts of the gates, the drift, and per set the shares that the gates look at.

    Args:
        result: Of the gates.
        noise: The noise statistics.
    """
    suites = result.outcome.suites.values()
    metrics: dict[str, float | int] = {
        "suites": len(suites),
        "expectations": sum(suite.declared for suite in suites),
        "changed": int(result.drift is not None and result.drift.changed),
        "drifted": int(result.drift is not None and result.drift.drifted),
    }
    sets = value_at(noise, "sets")
    for name in sorted(sets) if isinstance(sets, Mapping) else []:
        for key, path in _PER_SET.items():
            value = value_at(noise, "sets", name, *path)
            if isinstance(value, (int, float)):
                metrics[f"{name}_{key}"] = value
    return metrics

"""From scored items to slices, the flat metrics file and the plot table.

Each metric has its own population. EM, F1, accuracy and recall: answerable questions with gold answers. Answer rate
(an answer was given) and false abstention rate: answerable questions. Abstention rate: unanswerable questions, where
abstaining is right. Failure rate (malformed or empty output): all. Hallucination rate: all that can be judged; who says
nothing does not hallucinate, so the answer rate stands beside it, and a policy that says less cannot look better
unnoticed.
"""

from __future__ import annotations

import csv
import io

import numpy as np
import pyarrow as pa

from components.evaluate.params import Evaluate
from faithline.metrics.bootstrap import Floats
from faithline.metrics.slices import Bootstrap, Evaluation, Slice, cross, estimate
from faithline.metrics.table import POOLED
from faithline.pipeline.errors import DataInvalid

__all__ = ["evaluation", "flat_metrics", "plot_rows"]

_WITH_INTERVAL = ("em", "f1", "hallucination_rate")
_SPLIT_BY = ("hops", "question_type", "answer_type", "noise_level")


def evaluation(items: pa.Table, settings: Evaluate) -> Evaluation:
    """Estimate every metric on every slice: all items, each set, and both by answerability and each of `_SPLIT_BY`.

    Args:
        items: As `score_items` returns them.
        settings: The stage's settings.
    """
    answerable = ["yes" if flag else "no" for flag in items["answerable"].to_pylist()]
    labels = {
        "set": items["set"].to_pylist(),
        "answerable": answerable,
        **{name: ["" if value is None else str(value) for value in items[name].to_pylist()] for name in _SPLIT_BY},
    }
    if POOLED in labels["set"]:
        raise DataInvalid(
            f"a set is called `{POOLED}`, the name of the metrics over all sets",
            where="data/prepared/questions.parquet: set",
            next_step="give it another name in prepare_data.sources",
        )
    bootstrap = Bootstrap(settings.bootstrap_samples, settings.confidence, settings.bootstrap_seed)
    metrics = _columns(items, settings)
    conditions = cross(labels, "set", ["answerable", *_SPLIT_BY])
    slices = [estimate(metrics, labels, where, bootstrap) for where in conditions]
    return Evaluation(normalisation=settings.normalisation, bootstrap=bootstrap, slices=slices)


def flat_metrics(result: Evaluation, unanswered: dict[str, int]) -> dict[str, dict[str, float | int]]:
    """Lay out the per-set slices for `dvc metrics show`.

    Args:
        result: The evaluation.
        unanswered: Set → questions without an answer in the splits that were answered.

    Returns:
        Set → {"n", "unanswered", metric, metric_lo, metric_hi of `_WITH_INTERVAL`}; pooled: `all`.
    """
    missing = {**unanswered, POOLED: sum(unanswered.values())}
    flat: dict[str, dict[str, float | int]] = {}
    for name, part in _by_set(result):
        row: dict[str, float | int] = {"n": part.n, "unanswered": missing[name]}
        row |= {metric: found.mean for metric, found in part.metrics.items()}
        for metric in _WITH_INTERVAL:
            if metric in part.metrics:
                row |= {f"{metric}_lo": part.metrics[metric].lo, f"{metric}_hi": part.metrics[metric].hi}
        flat[name] = row
    return flat


def plot_rows(result: Evaluation) -> str:
    """Write set, metric, mean, lo, hi as CSV for `dvc plots`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["set", "metric", "mean", "lo", "hi"])
    for name, part in _by_set(result):
        writer.writerows([name, metric, e.mean, e.lo, e.hi] for metric, e in part.metrics.items() if metric != "length")
    return text.getvalue()


def _by_set(result: Evaluation) -> list[tuple[str, Slice]]:
    return [(part.where.get("set", POOLED), part) for part in result.slices if set(part.where) <= {"set"}]


def _columns(items: pa.Table, settings: Evaluate) -> dict[str, Floats]:
    """Metric → value per item, NaN outside the metric's population."""

    def column(name: str) -> Floats:
        return np.array(items[name].to_numpy(), dtype=np.float64)

    answerable, outcome = np.asarray(items["answerable"]), np.asarray(items["outcome"])

    def among(population: np.ndarray, values: np.ndarray) -> Floats:
        return np.where(population, values, np.nan)

    rule = settings.normalisation
    sources = {"em": f"em_{rule}", "f1": f"f1_{rule}"}
    sources |= {name: name for name in ("accuracy", "recall", "em_official", "f1_official", "em_strict", "f1_strict")}
    return {
        **{name: among(answerable, column(source)) for name, source in sources.items()},
        "answer_rate": among(answerable, outcome == "ok"),
        "false_abstention_rate": among(answerable, outcome == "abstained"),
        "abstention_rate": among(~answerable, outcome == "abstained"),
        "failure_rate": np.isin(outcome, ["malformed", "empty"]).astype(np.float64),
        "hallucination_rate": column("hallucinated"),
        "context_recall": column("context_recall"),
        "length": column("length"),
    }

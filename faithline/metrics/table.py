"""The metrics of an evaluation as a plain-text table, for the terminal; needs the standard library only."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["HEADLINE", "POOLED", "text_table"]

POOLED = "all"
"""Key of the metrics over all sets together."""

HEADLINE = {
    "em": "EM",
    "f1": "F1",
    "accuracy": "accuracy",
    "recall": "recall",
    "context_recall": "evidence shown",
    "answer_rate": "answered",
    "abstention_rate": "abstained rightly",
}
"""Metrics of the tables, in order, with the heading of each."""


def text_table(evaluate_metrics: Mapping[str, object]) -> str:
    """Lay out `metrics/evaluate.json`: one row per set, the pooled row last.

    Args:
        evaluate_metrics: Set → {"n", "em", "em_lo", "em_hi", ...}, shares in 0..1; what is absent shows as "-".

    Returns:
        Lines without a final newline; scores in percent, intervals in brackets.
    """
    sets = sorted(evaluate_metrics, key=lambda name: (name == POOLED, name))
    rows = {name: row for name in sets if isinstance(row := evaluate_metrics[name], Mapping)}
    shown = {key: title for key, title in HEADLINE.items() if any(key in row for row in rows.values())}
    lines = [["set", "n", *shown.values()]]
    lines += [[name, str(row.get("n", "-")), *(_cell(row, key) for key in shown)] for name, row in rows.items()]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = ["  ".join([cells[0].ljust(widths[0]), *map(str.rjust, cells[1:], widths[1:])]) for cells in lines]
    rule = "-" * len(text[0])
    note = "percent; [bootstrap interval]; EM, F1, accuracy and recall over the answerable questions"
    return "\n".join([text[0], rule, *text[1:], rule, note])


def _cell(row: Mapping[str, object], key: str) -> str:
    mean, lo, hi = (row.get(name) for name in (key, f"{key}_lo", f"{key}_hi"))
    if not isinstance(mean, int | float):
        return "-"
    if not isinstance(lo, int | float) or not isinstance(hi, int | float):
        return f"{100 * mean:.1f}"
    return f"{100 * mean:.1f} [{100 * lo:.1f}, {100 * hi:.1f}]"

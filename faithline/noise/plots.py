"""The statistics as figures, drawn to stand on the report page; texts from data are never read as formulas."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from faithline.drawing import FIRST, LINE, SECOND, new_figure, short_name, to_svg
from faithline.noise.lengths import ALL
from faithline.noise.table import shares, value_at

__all__ = ["figures"]

_TABLES = ("questions", "responses", "judgements")

Report = Mapping[str, object]


@dataclass(frozen=True)
class _Spread:
    """A distribution of one set."""

    name: str
    average: float
    quantiles: list[float]
    """Ascending."""


def figures(report: Report) -> dict[str, str]:
    """Draw what there is to draw.

    Args:
        report: What `measure` returns.

    Returns:
        Name of each figure to its SVG: `noise-lengths`, `noise-irrelevant`, `noise-findings`; one without data is left
        out.
    """
    drawn = {}
    if lengths := _spreads(report, ("context_words",)):
        drawn["noise-lengths"] = _lengths(lengths)
    if irrelevant := _spreads(report, ("irrelevant_documents", "per_query")):
        drawn["noise-irrelevant"] = _irrelevant(irrelevant)
    if any(any(row) for _, row in shares(report)[1]):
        drawn["noise-findings"] = _matrix(report)
    return drawn


def _lengths(spreads: Sequence[_Spread]) -> str:
    with new_figure(0.42 * len(spreads) + 0.9) as (figure, axes):
        _draw(axes, spreads, 1)
        axes.set_xscale("symlog", linthresh=10)
        axes.set_xlim(left=0)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.set_xlabel("words of documents per query; dot = average")
        return to_svg(figure, "noise-lengths")


def _irrelevant(spreads: Sequence[_Spread]) -> str:
    with new_figure(0.42 * len(spreads) + 0.9) as (figure, axes):
        _draw(axes, spreads, 100)
        axes.set_xlim(-2, 102)
        axes.set_xlabel("irrelevant documents of a query, percent; dot = average")
        return to_svg(figure, "noise-irrelevant")


def _draw(axes: Axes, spreads: Sequence[_Spread], scale: float) -> None:
    """Draw a line per set: pairs of quantiles as nested bars, the average as a dot."""
    for y, spread in enumerate(spreads):
        marks = [scale * value for value in spread.quantiles]
        for depth in range(len(marks) // 2):
            axes.hlines(y, marks[depth], marks[-1 - depth], FIRST, lw=2 + 5 * depth)
        axes.plot(scale * spread.average, y, "o", color=SECOND, ms=6)
    axes.set_yticks(range(len(spreads)), [short_name(spread.name) for spread in spreads], parse_math=False)
    axes.set_ylim(len(spreads) - 0.5, -0.5)
    axes.grid(axis="x", color=LINE, lw=0.6)


def _matrix(report: Report) -> str:
    """Draw a grid of dots, findings by sets; the area of a dot goes with the square root of the share."""
    names, every = shares(report)
    findings = [(label, row) for label, row in every if any(row)]
    with new_figure(0.27 * len(findings) + 1.3) as (figure, axes):
        for y, (_, row) in enumerate(findings):
            for x, share in enumerate(row):
                if share is None:
                    axes.plot(x, y, "_", color=LINE, ms=6)
                elif share > 0:
                    axes.plot(x, y, "o", color=SECOND, mew=0, ms=15 * share**0.25)
        axes.set_yticks(range(len(findings)), [label for label, _ in findings], parse_math=False)
        axes.set_ylim(len(findings) - 0.5, -0.5)
        axes.set_xticks(
            range(len(names)), [short_name(name) for name in names], rotation=35, ha="right", parse_math=False
        )
        axes.set_xlim(-0.5, len(names) - 0.5)
        axes.grid(axis="y", color=LINE, lw=0.6)
        return to_svg(figure, "noise-findings")


def _spreads(report: Report, path: tuple[str, ...]) -> list[_Spread]:
    sets = value_at(report, "sets")
    found = []
    for name in sorted(sets) if isinstance(sets, Mapping) else ():
        for table in _TABLES:
            summary = value_at(report, "sets", name, table, "splits", ALL, *path)
            if isinstance(summary, Mapping) and summary.get("avg") is not None:
                marks = sorted(float(value) for key, value in summary.items() if re.fullmatch(r"q[\d.]+", key))
                found.append(_Spread(name, float(summary["avg"]), marks))
    return found

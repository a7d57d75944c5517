"""The statistics as figures: SVG whose colours and font come from the page, the same bytes for the same numbers.

Matplotlib draws with placeholder colours, which become the page's CSS variables, so one figure serves light and dark
mode; ids come from a fixed salt, the date is left out, text stays text and is never read as a formula.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import matplotlib as mpl
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from faithline.noise.lengths import ALL
from faithline.noise.table import shares, value_at

__all__ = ["figures"]

_COLOURS = {"#010101": "var(--ink)", "#020202": "var(--muted)", "#030303": "var(--line)"}
_COLOURS |= {"#040404": "var(--first)", "#050505": "var(--second)"}
_INK, _MUTED, _LINE, _FIRST, _SECOND = _COLOURS
_WIDTH_IN = 5.6
_NAME_CHARACTERS = 22
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
    with _figure(0.42 * len(spreads) + 0.9) as (figure, axes):
        _draw(axes, spreads, 1)
        axes.set_xscale("symlog", linthresh=10)
        axes.set_xlim(left=0)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.set_xlabel("words of documents per query; dot = average")
        return _svg(figure, "noise-lengths")


def _irrelevant(spreads: Sequence[_Spread]) -> str:
    with _figure(0.42 * len(spreads) + 0.9) as (figure, axes):
        _draw(axes, spreads, 100)
        axes.set_xlim(-2, 102)
        axes.set_xlabel("irrelevant documents of a query, percent; dot = average")
        return _svg(figure, "noise-irrelevant")


def _draw(axes: Axes, spreads: Sequence[_Spread], scale: float) -> None:
    """Draw a line per set: pairs of quantiles as nested bars, the average as a dot."""
    for y, spread in enumerate(spreads):
        marks = [scale * value for value in spread.quantiles]
        for depth in range(len(marks) // 2):
            axes.hlines(y, marks[depth], marks[-1 - depth], _FIRST, lw=2 + 5 * depth)
        axes.plot(scale * spread.average, y, "o", color=_SECOND, ms=6)
    axes.set_yticks(range(len(spreads)), [_short(spread.name) for spread in spreads], parse_math=False)
    axes.set_ylim(len(spreads) - 0.5, -0.5)
    axes.grid(axis="x", color=_LINE, lw=0.6)


def _matrix(report: Report) -> str:
    """Draw a grid of dots, findings by sets; the area of a dot goes with the square root of the share."""
    names, every = shares(report)
    findings = [(label, row) for label, row in every if any(row)]
    with _figure(0.27 * len(findings) + 1.3) as (figure, axes):
        for y, (_, row) in enumerate(findings):
            for x, share in enumerate(row):
                if share is None:
                    axes.plot(x, y, "_", color=_LINE, ms=6)
                elif share > 0:
                    axes.plot(x, y, "o", color=_SECOND, mew=0, ms=15 * share**0.25)
        axes.set_yticks(range(len(findings)), [label for label, _ in findings], parse_math=False)
        axes.set_ylim(len(findings) - 0.5, -0.5)
        axes.set_xticks(range(len(names)), [_short(name) for name in names], rotation=35, ha="right", parse_math=False)
        axes.set_xlim(-0.5, len(names) - 0.5)
        axes.grid(axis="y", color=_LINE, lw=0.6)
        return _svg(figure, "noise-findings")


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


@contextmanager
def _figure(height_in: float) -> Iterator[tuple[Figure, Axes]]:
    with style.context("default"), mpl.rc_context({"svg.fonttype": "none", "font.size": 10}):
        figure = Figure(figsize=(_WIDTH_IN, height_in), layout="constrained")
        axes = figure.subplots()
        axes.set_axisbelow(True)
        axes.spines[:].set_visible(False)
        axes.spines["bottom"].set(visible=True, color=_LINE)
        axes.tick_params(color=_LINE, labelcolor=_INK, length=0)
        axes.xaxis.label.set_color(_MUTED)
        yield figure, axes


def _short(name: str) -> str:
    return name if len(name) <= _NAME_CHARACTERS else f"{name[: _NAME_CHARACTERS - 1]}…"


def _svg(figure: Figure, name: str) -> str:
    text = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": name}):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    svg = re.sub(r"<metadata>.*?</metadata>", "", text.getvalue()[text.getvalue().index("<svg") :], flags=re.DOTALL)
    for placeholder, variable in _COLOURS.items():
        svg = svg.replace(placeholder, variable)
    # Several figures share the page's id space.
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    return re.sub(r'(<svg [^>]*?)width="[^"]*" height="[^"]*"|(<svg [^>]*?)height="[^"]*" ', r"\1\2", svg, count=1)

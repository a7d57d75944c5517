"""The page's figures as SVG that takes its colours and font from the page.

Matplotlib draws with placeholder colours, which become CSS variables, so one figure serves light and dark mode. The
bytes are a function of the numbers and the Matplotlib version: ids come from a fixed salt, metadata are cut out, text
stays text. Texts from data are never read as formulas.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import matplotlib as mpl
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from components.report.sources import Curve
from faithline.metrics.slices import Estimate

__all__ = ["Bar", "intervals_svg", "loss_svg"]

_COLOURS = {"#010101": "var(--ink)", "#020202": "var(--muted)", "#030303": "var(--line)"}
_COLOURS |= {"#040404": "var(--first)", "#050505": "var(--second)"}
_INK, _MUTED, _LINE, _FIRST, _SECOND = _COLOURS
_WIDTH_IN = 5.6
_NAME_CHARACTERS = 22


@dataclass(frozen=True)
class Bar:
    """One line of the interval plot."""

    name: str
    n: int
    em: Estimate | None
    f1: Estimate | None


def intervals_svg(bars: Sequence[Bar]) -> str:
    """Draw EM and F1 with their intervals, one line per set, the first on top; percent."""
    with _figure(0.62 * len(bars) + 0.9) as (figure, axes):
        for offset, marker, colour, label in ((-0.14, "o", _FIRST, "EM"), (0.14, "s", _SECOND, "F1")):
            found = [(y + offset, bar.em if label == "EM" else bar.f1) for y, bar in enumerate(bars)]
            points = [(y, estimate) for y, estimate in found if estimate is not None]
            axes.hlines(
                [y for y, _ in points], [100 * e.lo for _, e in points], [100 * e.hi for _, e in points], colour, lw=2
            )
            axes.plot(
                [100 * e.mean for _, e in points], [y for y, _ in points], marker, color=colour, ms=6, label=label
            )
        axes.set_xlim(-2, 102)
        axes.set_ylim(len(bars) - 0.5, -0.5)
        axes.set_yticks(range(len(bars)), [f"{_short(bar.name)}\nn = {bar.n}" for bar in bars], parse_math=False)
        axes.set_xlabel("percent")
        axes.grid(axis="x", color=_LINE, lw=0.6)
        _legend(axes)
        return _svg(figure, "intervals")


def loss_svg(curve: Curve) -> str:
    """Draw training and validation loss over the optimiser steps."""
    with _figure(2.9) as (figure, axes):
        axes.plot(*zip(*curve["loss"], strict=True), color=_FIRST, lw=1.4, label="training")
        if curve.get("eval_loss"):
            axes.plot(*zip(*curve["eval_loss"], strict=True), "s-", color=_SECOND, lw=1.4, ms=5, label="validation")
        axes.set_ylim(bottom=0)
        axes.set_xlabel("optimiser step")
        axes.set_ylabel("loss, nats per token")
        axes.grid(axis="y", color=_LINE, lw=0.6)
        _legend(axes)
        return _svg(figure, "loss")


@contextmanager
def _figure(height_in: float) -> Iterator[tuple[Figure, Axes]]:
    with style.context("default"), mpl.rc_context({"svg.fonttype": "none", "font.size": 10}):
        figure = Figure(figsize=(_WIDTH_IN, height_in), layout="constrained")
        axes = figure.subplots()
        axes.set_axisbelow(True)
        axes.spines[:].set_visible(False)
        axes.spines["bottom"].set(visible=True, color=_LINE)
        axes.tick_params(color=_LINE, labelcolor=_INK, length=0)
        for label in (axes.xaxis.label, axes.yaxis.label):
            label.set_color(_MUTED)
        yield figure, axes


def _legend(axes: Axes) -> None:
    legend = axes.legend(loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0, ncols=2, handletextpad=0.3)
    legend.set_frame_on(False)
    for text in legend.get_texts():
        text.set_color(_INK)


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

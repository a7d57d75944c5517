"""Figures as SVG that takes its colours and font from the page it stands on.

Matplotlib draws with placeholder colours, which become CSS variables, so one figure serves light and dark mode. The
bytes are a function of the numbers and the Matplotlib version: ids come from a fixed salt, metadata are cut out, text
stays text.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib as mpl
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["FIRST", "INK", "LINE", "MUTED", "SECOND", "new_figure", "short_name", "to_svg"]

_COLOURS = {"#010101": "var(--ink)", "#020202": "var(--muted)", "#030303": "var(--line)"}
_COLOURS |= {"#040404": "var(--first)", "#050505": "var(--second)"}
INK, MUTED, LINE, FIRST, SECOND = _COLOURS
_WIDTH_IN = 5.6
_NAME_CHARACTERS = 22


@contextmanager
def new_figure(height_in: float) -> Iterator[tuple[Figure, Axes]]:
    """Yield an empty figure of the page's width with its axes; draw and call `to_svg` inside the context."""
    with style.context("default"), mpl.rc_context({"svg.fonttype": "none", "font.size": 10}):
        figure = Figure(figsize=(_WIDTH_IN, height_in), layout="constrained")
        axes = figure.subplots()
        axes.set_axisbelow(True)
        axes.spines[:].set_visible(False)
        axes.spines["bottom"].set(visible=True, color=LINE)
        axes.tick_params(color=LINE, labelcolor=INK, length=0)
        for label in (axes.xaxis.label, axes.yaxis.label):
            label.set_color(MUTED)
        yield figure, axes


def short_name(name: str) -> str:
    """Cut a name from the data to what an axis has room for."""
    return name if len(name) <= _NAME_CHARACTERS else f"{name[: _NAME_CHARACTERS - 1]}…"


def to_svg(figure: Figure, name: str) -> str:
    """Write a figure as an `<svg>` element; `name` keeps its ids apart from those of the page's other figures."""
    text = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": name}):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    svg = re.sub(r"<metadata>.*?</metadata>", "", text.getvalue()[text.getvalue().index("<svg") :], flags=re.DOTALL)
    for placeholder, variable in _COLOURS.items():
        svg = svg.replace(placeholder, variable)
    # Several figures share the page's id space.
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    return re.sub(r'(<svg [^>]*?)width="[^"]*" height="[^"]*"|(<svg [^>]*?)height="[^"]*" ', r"\1\2", svg, count=1)

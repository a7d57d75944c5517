"""The page's figures; texts from data are never read as formulas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from components.report.sources import Curve
from faithline.drawing import FIRST, INK, LINE, SECOND, new_figure, short_name, to_svg
from faithline.metrics.slices import Estimate

__all__ = ["Bar", "intervals_svg", "loss_svg"]


@dataclass(frozen=True)
class Bar:
    """One line of the interval plot."""

    name: str
    n: int
    em: Estimate | None
    f1: Estimate | None


def intervals_svg(bars: Sequence[Bar]) -> str:
    """Draw EM and F1 with their intervals, one line per set, the first on top; percent."""
    with new_figure(0.62 * len(bars) + 0.9) as (figure, axes):
        for offset, marker, colour, label in ((-0.14, "o", FIRST, "EM"), (0.14, "s", SECOND, "F1")):
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
        axes.set_yticks(range(len(bars)), [f"{short_name(bar.name)}\nn = {bar.n}" for bar in bars], parse_math=False)
        axes.set_xlabel("percent")
        axes.grid(axis="x", color=LINE, lw=0.6)
        _legend(axes)
        return to_svg(figure, "intervals")


def loss_svg(curve: Curve) -> str:
    """Draw training and validation loss over the optimiser steps."""
    with new_figure(2.9) as (figure, axes):
        axes.plot(*zip(*curve["loss"], strict=True), color=FIRST, lw=1.4, label="training")
        if curve.get("eval_loss"):
            axes.plot(*zip(*curve["eval_loss"], strict=True), "s-", color=SECOND, lw=1.4, ms=5, label="validation")
        axes.set_ylim(bottom=0)
        axes.set_xlabel("optimiser step")
        axes.set_ylabel("loss, nats per token")
        axes.grid(axis="y", color=LINE, lw=0.6)
        _legend(axes)
        return to_svg(figure, "loss")


def _legend(axes: Axes) -> None:
    legend = axes.legend(loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0, ncols=2, handletextpad=0.3)
    legend.set_frame_on(False)
    for text in legend.get_texts():
        text.set_color(INK)

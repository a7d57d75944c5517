"""`faithline plan`: what a run would do, where, for how long and for how much."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faithline.cluster.estimates import Range
    from faithline.cluster.plan import Plan
    from faithline.commands import Commands

__all__ = ["add"]

OVER_BUDGET = 2


def add(commands: Commands) -> None:
    """Add the command."""
    plan = commands.add_parser("plan", help="show what a run would do, why, and what it costs; starts nothing")
    plan.add_argument("--budget", type=float, metavar="MONEY", help="exit 2 if the run may cost more")
    plan.add_argument(
        "--allow-missing", action="store_true", help="data that dvc.lock names and that is not here is in the store"
    )
    plan.add_argument("--json", action="store_true", help="for machines")
    plan.set_defaults(command=_plan)


def _plan(arguments: argparse.Namespace) -> int:
    import json

    from faithline.cluster.plan import make_plan

    plan = make_plan(arguments.root, allow_missing=arguments.allow_missing)
    document = plan.document(arguments.budget)
    if arguments.json:
        print(json.dumps(document, sort_keys=True, indent=2))
    else:
        print(_text(plan, arguments.budget))
    return OVER_BUDGET if document["over_budget"] else 0


def _text(plan: Plan, budget: float | None) -> str:
    rows: list[tuple[str, ...]] = [("stage", "action", "pool", "hours", "GPU-hours", plan.currency, "why")]
    for stage in plan.stages:
        where = stage.pool if stage.nodes == 1 else f"{stage.nodes} x {stage.pool}"
        action = stage.action if stage.certain else f"{stage.action}?"
        why = "; ".join((*stage.reasons, *((f"hours: {stage.basis}",) if stage.basis else ())))
        shown = stage.action != "cached"
        numbers = [_span(span, shown) for span in (stage.hours, stage.gpu_hours, stage.cost)]
        rows.append((stage.stage, action, where, *numbers, why or "up to date"))
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, [*widths, 0], strict=True)) for row in rows]
    runs = sum(stage.action != "cached" for stage in plan.stages)
    total = f"{runs} of {len(plan.stages)} stages run: {_span(plan.gpu_hours, True)} GPU-hours"
    lines.append(f"{total}, {plan.currency} {_span(plan.cost, True)}")
    if budget is not None:
        verdict = "over" if plan.cost.high > budget else "within"
        lines.append(f"{verdict} the budget of {plan.currency} {budget:g}")
    return "\n".join(line.rstrip() for line in lines)


def _span(span: Range, shown: bool) -> str:
    if not shown:
        return "-"
    low, high = _number(span.low), _number(span.high)
    return low if low == high else f"{low}-{high}"


def _number(value: float) -> str:
    return "0" if value == 0 else f"{value:.2f}" if value >= 0.01 else f"{value:.4f}"

"""`faithline summary`: the metrics table, and where the report is."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faithline.commands import Commands

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Add the command."""
    summary = commands.add_parser("summary", help="print the metrics table and where the report is")
    summary.set_defaults(command=_summary)


def _summary(arguments: argparse.Namespace) -> None:
    from faithline.summary import summary

    print(summary(arguments.root))

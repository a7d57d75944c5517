"""`faithline score`: predictions of a file against their gold answers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faithline.commands import Commands

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Add the command."""
    score = commands.add_parser(
        "score",
        help="score a file of predictions under the official and the strict rule",
        description="Reads one JSON object a line: id, prediction, answers (list). Bad lines are an error, not a zero.",
    )
    score.add_argument("file", type=Path, metavar="FILE.jsonl", help="predictions with their gold answers")
    score.add_argument("--json", action="store_true", help="print every item's scores and the means as JSON")
    score.set_defaults(command=_score)


def _score(arguments: argparse.Namespace) -> None:
    import sys

    import msgspec

    from faithline.metrics.score_file import score_file

    scored = score_file(arguments.file)
    if arguments.json:
        sys.stdout.buffer.write(msgspec.json.encode(scored) + b"\n")
        sys.stdout.buffer.flush()
        return
    print(f"{scored.n} predictions")
    for name, mean in scored.means.items():
        print(f"  {name:<12} {100 * mean:6.2f}")

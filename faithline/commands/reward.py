"""`faithline reward`: rewards replayed from stored texts."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faithline.commands import Commands

__all__ = ["add"]

_FLUSH_BYTES = 1 << 18


def add(commands: Commands) -> None:
    """Add the group."""
    reward = commands.add_parser("reward", help="replay rewards from stored texts")
    systems = reward.add_subparsers(required=True, metavar="SYSTEM")
    march = systems.add_parser(
        "march",
        help="MARCH: judge the Proposer's and Checker's texts",
        description="Reads one JSON object a line: query, response, proposer_output, checker_outputs (list). Writes "
        "one a line: outcome, pairs, ztr, err. Settings: march.reward of params.yaml.",
    )
    march.add_argument("file", type=Path, metavar="FILE.jsonl", help="stored texts")
    march.add_argument(
        "--compat", choices=["release"], help="parse and compare numbers as the released code does (tolerance 0.1)"
    )
    march.set_defaults(command=_march)


def _march(arguments: argparse.Namespace) -> None:
    import sys

    from faithline.rewards.replay import load_settings, replay_file

    settings = load_settings(arguments.root, release=arguments.compat == "release")
    written = bytearray()
    try:
        for line in replay_file(arguments.file, settings):
            written += line
            if len(written) >= _FLUSH_BYTES:
                sys.stdout.buffer.write(written)
                written.clear()
    finally:
        sys.stdout.buffer.write(written)
        sys.stdout.buffer.flush()

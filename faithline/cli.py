"""The command `faithline`; every subcommand imports what it needs only when it is called.

Exit codes are those of the stages (`faithline.pipeline.errors`); a command that has a verdict of its own returns it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from faithline import __version__
from faithline.commands import (
    bundle,
    data,
    doctor,
    judge,
    kfp,
    lint,
    noise,
    params,
    plan,
    promote,
    reward,
    runs,
    score,
    summary,
)
from faithline.pipeline.errors import ExitCode, PipelineError, classify


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line, run the subcommand, and return its exit code."""
    arguments = _parser().parse_args(argv)
    try:
        verdict = arguments.command(arguments)
    except BrokenPipeError:
        return ExitCode.OK
    except (PipelineError, OSError, MemoryError) as error:
        known = classify(error)
        if known is None:
            raise
        print(f"error: {known}", file=sys.stderr)
        return known.exit_code
    return ExitCode.OK if verdict is None else int(verdict)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="faithline", description="Train and serve faithful RAG agents.")
    parser.add_argument("--version", action="version", version=f"faithline {__version__}")
    parser.add_argument("--root", type=Path, default=Path(), help="the project folder (default: here)")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for group in (params, data, noise, reward, plan, doctor, runs, kfp, lint, score, judge, promote, bundle, summary):
        group.add(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())

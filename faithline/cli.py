"""The command `faithline`; every subcommand imports what it needs only when it is called."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from faithline import __version__
from faithline.pipeline.errors import ExitCode, PipelineError, classify


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line, run the subcommand, and return its exit code."""
    arguments = _parser().parse_args(argv)
    try:
        arguments.command(arguments)
    except BrokenPipeError:
        return ExitCode.OK
    except (PipelineError, OSError, MemoryError) as error:
        known = classify(error)
        if known is None:
            raise
        print(f"error: {known}", file=sys.stderr)
        return known.exit_code
    return ExitCode.OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="faithline", description="Train and serve faithful RAG agents.")
    parser.add_argument("--version", action="version", version=f"faithline {__version__}")
    parser.add_argument("--root", type=Path, default=Path(), help="the project folder (default: here)")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    params = commands.add_parser("params", help="check params.yaml or merge a patch into it")
    actions = params.add_subparsers(required=True, metavar="ACTION")
    check = actions.add_parser("check", help="load every stage's settings; exit 40 on the first that is wrong")
    check.set_defaults(command=_params_check)
    apply = actions.add_parser("apply", help="merge a patch document (conf/*.yaml) into params.yaml, comments kept")
    apply.add_argument("patch", type=Path, nargs="+", help="patch files, applied in order")
    apply.set_defaults(command=_params_apply)

    data = commands.add_parser("data", help="work on the sources of the data sets")
    actions = data.add_subparsers(required=True, metavar="ACTION")
    lock = actions.add_parser("lock", help="fetch every remote source of params.yaml and write sources.lock.json")
    lock.set_defaults(command=_data_lock)

    summary = commands.add_parser("summary", help="print the metrics table and where the report is")
    summary.set_defaults(command=_summary)
    return parser


def _params_check(arguments: argparse.Namespace) -> None:
    from faithline.pipeline.patch import check_project

    names = check_project(arguments.root)
    print(f"params.yaml: the settings of {len(names)} stages are valid")


def _params_apply(arguments: argparse.Namespace) -> None:
    from faithline.pipeline.patch import apply_patch

    for patch in arguments.patch:
        changed = apply_patch(arguments.root, patch)
        print(f"{patch}: {len(changed)} settings changed")
        for key, old, new in changed:
            print(f"  {key}: {_short(old)} -> {_short(new)}")


def _data_lock(arguments: argparse.Namespace) -> None:
    from faithline.data.lock_command import lock_sources
    from faithline.data.remote import LOCK_FILE, Locked
    from faithline.pipeline.machine import cache_folder

    def report(uri: str, found: Locked, before: Locked | None) -> None:
        state = "new" if before is None else "unchanged" if before == found else "CHANGED"
        print(f"{state}  {found.sha256[:12]}  {found.bytes} bytes  {uri}", flush=True)

    files = lock_sources(arguments.root, cache_folder(os.environ, Path.home()), report)
    print(f"{LOCK_FILE}: {files} remote files" if files else f"params.yaml names no remote source; {LOCK_FILE} is kept")


def _short(value: object) -> str:
    return f"{len(value)} entries" if isinstance(value, list) and value else str(value)


def _summary(arguments: argparse.Namespace) -> None:
    from faithline.summary import summary

    print(summary(arguments.root))


if __name__ == "__main__":
    sys.exit(main())

"""`faithline params`: check `params.yaml`, or merge a patch into it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faithline.commands import Commands

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Add the group."""
    params = commands.add_parser("params", help="check params.yaml or merge a patch into it")
    actions = params.add_subparsers(required=True, metavar="ACTION")
    check = actions.add_parser("check", help="load every stage's settings; exit 40 on the first that is wrong")
    check.set_defaults(command=_check)
    apply = actions.add_parser("apply", help="merge a patch document (conf/*.yaml) into params.yaml, comments kept")
    apply.add_argument("patch", type=Path, nargs="+", help="patch files, applied in order")
    apply.set_defaults(command=_apply)


def _check(arguments: argparse.Namespace) -> None:
    from faithline.cluster.tasks import project_tasks
    from faithline.pipeline.patch import check_project

    names = check_project(arguments.root)
    project_tasks(arguments.root)
    print(f"params.yaml: the settings of {len(names)} stages are valid")


def _apply(arguments: argparse.Namespace) -> None:
    from faithline.pipeline.patch import apply_patch

    for patch in arguments.patch:
        changed = apply_patch(arguments.root, patch)
        print(f"{patch}: {len(changed)} settings changed")
        for key, old, new in changed:
            print(f"  {key}: {_short(old)} -> {_short(new)}")


def _short(value: object) -> str:
    return f"{len(value)} entries" if isinstance(value, list) and value else str(value)

"""`faithline run-stage`, what a pod executes, and `faithline runs`: look at a run, make it the project's own."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from faithline.commands import seconds
from faithline.pipeline.errors import ExitCode, Preempted

if TYPE_CHECKING:
    from faithline.commands import Commands

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Add the command and the group."""
    stage = commands.add_parser(
        "run-stage",
        help="run one stage of a run that lives in a store: what a pod executes",
        epilog="Exits with the stage's own code. Only 75 is worth another attempt.",
    )
    stage.add_argument("stage", help="the stage's name in dvc.yaml")
    _run_and_store(stage)
    stage.add_argument("--workspace", type=Path, help="run in a copy of the project below this folder")
    stage.add_argument("--cache", type=Path, help="DVC cache to use, such as a volume that pods share")
    stage.add_argument(
        "--tombstone", action="store_true", help="let a lasting failure end later attempts of this run at once"
    )
    stage.add_argument("--lease-s", type=seconds, default=60.0, help="a runner silent for so long is dead (60)")
    stage.add_argument("--wait-s", type=seconds, default=120.0, help="how long to wait for another runner (120)")
    stage.add_argument("--grace-s", type=seconds, default=25.0, help="time to save work after SIGTERM (25)")
    stage.set_defaults(command=_run_stage)
    runs = commands.add_parser("runs", help="look at a run in the store, or make it the project's own")
    actions = runs.add_subparsers(required=True, metavar="ACTION")
    adopt = actions.add_parser("adopt", help="assemble dvc.lock from a run whose stages are all done")
    _run_and_store(adopt, option=False)
    adopt.add_argument("--params", action="store_true", help="take the run's params.yaml too")
    adopt.set_defaults(command=_adopt)
    show = actions.add_parser("show", help="print how far a run is")
    _run_and_store(show, option=False)
    show.set_defaults(command=_show)


def _run_and_store(parser: argparse.ArgumentParser, *, option: bool = True) -> None:
    if option:
        parser.add_argument("--run-id", required=True, help="the run that the stage belongs to")
    else:
        parser.add_argument("run_id", metavar="RUN", help="the run's id")
    parser.add_argument("--store", required=True, help="s3://BUCKET/PREFIX, or a folder that all machines mount")


def _run_stage(arguments: argparse.Namespace) -> int:
    from faithline.runs.run_stage import Request, run_stage

    request = Request(
        root=arguments.root,
        stage=arguments.stage,
        run_id=arguments.run_id,
        store_url=arguments.store,
        workspace=arguments.workspace,
        cache=arguments.cache,
        lease_s=arguments.lease_s,
        wait_s=arguments.wait_s,
        grace_s=arguments.grace_s,
    )
    try:
        if arguments.tombstone:
            from faithline.cluster.tombstone import guarded
            from faithline.store.objects import open_store

            store = open_store(arguments.store)
            return guarded(store, arguments.run_id, arguments.stage, lambda: run_stage(request))
        return run_stage(request)
    except Preempted as error:
        print(f"error: {arguments.stage}: {error}", file=sys.stderr, flush=True)
        os._exit(ExitCode.TEMPORARY)  # transfers that were broken off may not hold up the end of a pod


def _adopt(arguments: argparse.Namespace) -> None:
    from faithline.runs.adopt import adopt
    from faithline.runs.layout import REMOTE
    from faithline.store.objects import open_store

    done = adopt(arguments.root, open_store(arguments.store), arguments.run_id, with_params=arguments.params)
    print(f"run {arguments.run_id}: {done.stages} stages, all of their {done.objects} objects are in the store")
    print(f"wrote {', '.join(done.written)}")
    print(f"next: dvc remote add --default --force runs {arguments.store.rstrip('/')}/{REMOTE}; dvc pull; git commit")


def _show(arguments: argparse.Namespace) -> None:
    from faithline.runs.show import show
    from faithline.store.objects import open_store

    for line in show(arguments.root, open_store(arguments.store), arguments.run_id):
        print(line)

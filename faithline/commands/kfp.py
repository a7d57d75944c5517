"""`faithline kfp`: the pipeline on Kubeflow: compile, start, watch, end, retry, schedule."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faithline.commands import Commands
    from faithline.kubeflow.client import Kubeflow, RunState

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Add the group."""
    kfp = commands.add_parser("kfp", help="run the pipeline on Kubeflow")
    actions = kfp.add_subparsers(required=True, metavar="ACTION")
    compiled = actions.add_parser("compile", help="write the compiled pipeline, KFP's YAML")
    compiled.add_argument("-o", "--output", type=Path, help="file to write (default: stdout)")
    _add_patches(compiled)
    compiled.set_defaults(command=_compile)
    _add_starters(actions)
    for name, function, text in (
        ("status", _status, "show a run and its stages; the exit code is the run's, as a stage would give it"),
        ("cancel", _cancel, "end a run"),
        ("retry", _retry, "start a run's failed stages again; their tombstones are removed"),
        ("logs", _logs, "print what a stage printed"),
    ):
        action = actions.add_parser(name, help=text)
        action.add_argument("run_id")
        _add_server(action)
        action.set_defaults(command=function)
        if name == "logs":
            action.add_argument("stage")
        if name == "status":
            action.add_argument("--wait", action="store_true", help="until the run has ended")
            action.add_argument("--every", type=float, default=15.0, metavar="SECONDS", help="between two looks (15)")
            action.add_argument("--json", action="store_true", help="for machines")
    _add_task(actions)


def _add_starters(actions: Commands) -> None:
    submit = actions.add_parser("submit", help="compile and start a run; prints its id")
    submit.set_defaults(command=_submit)
    schedule = actions.add_parser("schedule", help="compile and start runs by a clock; prints the schedule's id")
    schedule.add_argument("cron", help='six fields, seconds first: "0 0 3 * * 1" is Monday 3:00')
    schedule.set_defaults(command=_schedule)
    for action in (submit, schedule):
        action.add_argument("--name", default="faithline", help="what the UI calls it")
        action.add_argument("--experiment", default="faithline", help="group of runs in the UI")
        _add_patches(action)
        _add_server(action)
    listing = actions.add_parser("schedules", help="list the schedules")
    listing.set_defaults(command=_schedules)
    _add_server(listing)
    remove = actions.add_parser("unschedule", help="remove a schedule")
    remove.add_argument("schedule_id")
    remove.set_defaults(command=_unschedule)
    _add_server(remove)


def _add_task(actions: Commands) -> None:
    task = actions.add_parser("task", help="inside a compiled pipeline's container: run a stage as a Kubeflow task")
    task.add_argument("--executor-input", required=True, help="KFP's {{$}}")
    task.add_argument("--metrics", type=Path, help="where KFP takes the metrics from")
    task.add_argument("--page", type=Path, help="where KFP takes the HTML page from")
    task.add_argument("run", nargs=argparse.REMAINDER, help="-- faithline run-stage STAGE ...")
    task.set_defaults(command=_task)


def _add_patches(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--patch", type=Path, action="append", default=[], help="patch document for this rendering; params.yaml stays"
    )


def _add_server(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--endpoint",
        default=os.environ.get("KF_PIPELINES_ENDPOINT", ""),
        help="the KFP server (default: KF_PIPELINES_ENDPOINT)",
    )


@contextlib.contextmanager
def _rendered(root: Path, patches: list[Path]) -> Iterator[tuple[Path, str]]:
    """Yield a folder with `dvc.yaml` and the patched `params.yaml`, and the pipeline compiled from it."""
    import shutil
    import tempfile

    from faithline.kubeflow.compile import compile_project
    from faithline.pipeline.graph import PARAMS_FILE, PIPELINE_FILE
    from faithline.pipeline.patch import apply_patch

    with tempfile.TemporaryDirectory(prefix="faithline-") as folder:
        place = Path(folder)
        for name in (PIPELINE_FILE, PARAMS_FILE):
            if (root / name).is_file():
                shutil.copyfile(root / name, place / name)
        for patch in patches:
            apply_patch(place, patch)
        yield place, compile_project(place)


def _compile(arguments: argparse.Namespace) -> None:
    with _rendered(arguments.root, arguments.patch) as (_, text):
        if arguments.output is None:
            sys.stdout.write(text)
            return
        arguments.output.write_text(text, encoding="utf-8")
        print(f"{arguments.output}: compiled; check it with `faithline lint {arguments.output}`")


@contextlib.contextmanager
def _package(arguments: argparse.Namespace) -> Iterator[tuple[Kubeflow, Path, str]]:
    from faithline.cluster.settings import load_cluster
    from faithline.kubeflow.client import connect

    with _rendered(arguments.root, arguments.patch) as (place, text):
        cluster = load_cluster(place)
        package = place / "pipeline.yaml"
        package.write_text(text, encoding="utf-8")
        yield connect(arguments.endpoint, cluster.namespace, os.environ), package, cluster.service_account


def _submit(arguments: argparse.Namespace) -> None:
    with _package(arguments) as (server, package, account):
        print(server.submit(package, arguments.name, arguments.experiment, account))


def _schedule(arguments: argparse.Namespace) -> None:
    from faithline.pipeline.errors import ConfigError

    if len(arguments.cron.split()) != 6:
        raise ConfigError(
            f"`{arguments.cron}` has {len(arguments.cron.split())} fields",
            where="faithline kfp schedule",
            next_step='Kubeflow takes six, seconds first: "0 0 3 * * 1" is Monday 3:00',
        )
    with _package(arguments) as (server, package, account):
        print(server.schedule(package, arguments.name, arguments.experiment, account, arguments.cron))


def _server(arguments: argparse.Namespace) -> Kubeflow:
    from faithline.cluster.settings import load_cluster
    from faithline.kubeflow.client import connect

    return connect(arguments.endpoint, load_cluster(arguments.root).namespace, os.environ)


def _schedules(arguments: argparse.Namespace) -> None:
    for row in _server(arguments).schedules():
        print("  ".join(row))


def _unschedule(arguments: argparse.Namespace) -> None:
    _server(arguments).unschedule(arguments.schedule_id)
    print(f"{arguments.schedule_id}: removed")


def _status(arguments: argparse.Namespace) -> int:
    import dataclasses
    import json
    import time

    from faithline.cluster.settings import load_cluster
    from faithline.kubeflow.client import failure_code
    from faithline.store.objects import open_store

    server = _server(arguments)
    state = server.state(arguments.run_id)
    while arguments.wait and not state.ended:
        time.sleep(arguments.every)
        state = server.state(arguments.run_id)
    code = failure_code(state, open_store(load_cluster(arguments.root).store)) if state.ended else 0
    if arguments.json:
        print(json.dumps(dataclasses.asdict(state) | {"exit_code": code}, sort_keys=True, indent=2))
    else:
        print(_table(state))
    return code


def _table(state: RunState) -> str:
    width = max((len(stage.stage) for stage in state.stages), default=0)
    rows = [f"{state.run_id}  {state.name}  {state.state}" + (f"  {state.error}" if state.error else "")]
    rows += [f"  {s.stage:<{width}}  {s.state}" + (f"  {s.error}" if s.error else "") for s in state.stages]
    return "\n".join(rows)


def _logs(arguments: argparse.Namespace) -> None:
    sys.stdout.write(_server(arguments).log(arguments.run_id, arguments.stage))


def _cancel(arguments: argparse.Namespace) -> None:
    _server(arguments).cancel(arguments.run_id)
    print(f"{arguments.run_id}: told to stop")


def _retry(arguments: argparse.Namespace) -> None:
    from faithline.cluster.settings import load_cluster
    from faithline.cluster.tombstone import tombstone_key
    from faithline.pipeline.graph import load_graph
    from faithline.store.objects import open_store

    server = _server(arguments)
    store = open_store(load_cluster(arguments.root).store)
    for stage in load_graph(arguments.root).stages:
        store.delete(tombstone_key(arguments.run_id, stage))
    server.retry(arguments.run_id)
    print(f"{arguments.run_id}: failed stages start again")


def _task(arguments: argparse.Namespace) -> int:
    from faithline.kubeflow.task import run_task

    command = arguments.run[1:] if arguments.run[:1] == ["--"] else arguments.run
    return run_task(arguments.root, arguments.executor_input, command, metrics=arguments.metrics, page=arguments.page)

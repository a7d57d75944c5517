"""`faithline doctor`: what this machine and its settings lack."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faithline.cluster.doctor.checkup import Scene
    from faithline.cluster.settings import Cluster
    from faithline.cluster.tasks import Task
    from faithline.commands import Commands

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Add the command."""
    doctor = commands.add_parser("doctor", help="look at versions, settings, disk, GPU, models, store and cluster")
    doctor.add_argument("--cluster", action="store_true", help="what only a cluster run needs counts as needed")
    doctor.add_argument("--json", action="store_true", help="for machines")
    doctor.set_defaults(command=_doctor)


def _doctor(arguments: argparse.Namespace) -> int:
    import dataclasses
    import json

    from faithline.cluster.doctor import kubernetes, machine, store
    from faithline.cluster.doctor.checkup import Probe, checkup
    from faithline.pipeline.errors import ExitCode

    scene = _scene(arguments)
    probes: list[tuple[str, Probe]] = [
        ("versions", machine.versions),
        ("settings", machine.settings),
        ("disk", machine.disk),
        ("gpu", machine.gpu),
        ("models", machine.models),
        ("credentials", store.credentials),
        ("region", store.region),
        ("champions", store.champions),
        ("endpoint", store.endpoint),
        ("kubeflow", kubernetes.kubeflow),
        ("namespace", kubernetes.own_namespace),
        *kubernetes.namespace_probes(scene),
    ]
    checks = checkup(scene, probes)
    if arguments.json:
        print(json.dumps([dataclasses.asdict(check) for check in checks], indent=2))
    else:
        print("\n".join(str(check) for check in checks))
    failed = any(check.state == "fail" for check in checks)
    return ExitCode.CONFIG if failed else ExitCode.OK


def _scene(arguments: argparse.Namespace) -> Scene:
    import os
    from pathlib import Path

    from faithline.cluster.doctor.checkup import Scene
    from faithline.cluster.settings import load_cluster
    from faithline.cluster.tasks import project_tasks
    from faithline.pipeline.errors import PipelineError
    from faithline.pipeline.graph import PARAMS_FILE
    from faithline.pipeline.yaml import read_mapping

    params: dict[str, object] = {}
    cluster: Cluster | None = None
    tasks: tuple[Task, ...] = ()
    try:
        params = read_mapping(arguments.root / PARAMS_FILE)
        cluster = load_cluster(arguments.root)
        tasks = project_tasks(arguments.root)
    except PipelineError:
        pass  # the probe `settings` reports it
    return Scene(arguments.root, Path.home(), os.environ, params, cluster, tasks, arguments.cluster)

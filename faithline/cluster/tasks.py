"""The graph entity of every cluster runner: one `Task` per stage, read from `dvc.yaml` and `params.yaml`.

A renderer (Kubeflow, Airflow) turns a `Task` into its own kind of object and invents nothing; a reader turns what was
rendered back into `Task`s. Equal tuples are what the parity tests demand, so each fact of a rendering is a field here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from faithline.cluster.resources import stage_resources
from faithline.cluster.settings import Cluster, Taint, read_cluster
from faithline.pipeline.errors import ConfigError
from faithline.pipeline.graph import PARAMS_FILE, Graph, Stage, load_graph
from faithline.pipeline.yaml import read_mapping

__all__ = ["CACHE_MOUNT", "STAGE_LABEL", "Task", "Toleration", "canonical", "project_tasks", "read_project"]

STAGE_LABEL = "faithline.dev/stage"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
CACHE_MOUNT = "/cache"
"""Where the images keep downloaded models (`XDG_CACHE_HOME`)."""


@dataclass(frozen=True, order=True)
class Toleration:
    """A taint a task's pod accepts; an empty value accepts any."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True)
class Task:
    """One stage as a cluster runs it."""

    stage: str
    needs: tuple[str, ...]
    """Stages that must have ended well before, sorted."""
    command: tuple[str, ...]
    """What the container executes, without what a runner adds: `faithline run-stage STAGE`."""
    image: str
    params: str
    """The whole params document the task gets, as canonical JSON."""
    nodes: int
    cpu: float
    memory_gib: int
    gpus: int
    gpu_resource: str
    """Resource name of the GPUs; empty without any."""
    shm_gib: int
    selector: tuple[tuple[str, str], ...]
    """Node labels, sorted."""
    tolerations: tuple[Toleration, ...]
    """Sorted."""
    labels: tuple[tuple[str, str], ...]
    """Pod labels, sorted."""
    user_id: int
    environment: tuple[tuple[str, str], ...]
    secrets: tuple[tuple[str, str, str], ...]
    """(environment variable, secret, key in it), sorted."""
    timeout_s: int
    retries: int
    backoff_s: int
    """Zero without retries."""
    backoff_max_s: int
    has_metrics: bool
    has_page: bool
    """Whether the stage writes an HTML page."""
    cache_claim: str = ""
    """Volume claim mounted at `CACHE_MOUNT`; empty without one."""


def canonical(document: object) -> str:
    """Return plain values as JSON that is equal for equal values."""
    return json.dumps(document, sort_keys=True, ensure_ascii=False)


def project_tasks(root: Path) -> tuple[Task, ...]:
    """Read the tasks of a project, every one after those it needs.

    Raises:
        ConfigError: If a stage's `meta` or the section `cluster` is wrong.
    """
    return read_project(root)[1]


def read_project(root: Path) -> tuple[Cluster, tuple[Task, ...]]:
    """Read a project's cluster and its tasks.

    Raises:
        ConfigError: If a stage's `meta` or the section `cluster` is wrong.
    """
    graph, document = load_graph(root), read_mapping(root / PARAMS_FILE)
    cluster, params = read_cluster(document, root / PARAMS_FILE), canonical(document)
    return cluster, tuple(_task(graph, graph.stage(name), cluster, params) for name in graph.order())


def _task(graph: Graph, stage: Stage, cluster: Cluster, params: str) -> Task:
    wanted = stage_resources(stage, cluster)
    pool = cluster.pools[wanted.pool]
    if wanted.world not in cluster.images:
        raise ConfigError(
            f"no image for world `{wanted.world}` of stage {stage.name}",
            where=f"{PARAMS_FILE}: cluster.images",
            next_step=f"build it and name it there: `{wanted.world}: NAME@sha256:DIGEST`",
        )
    labels = {STAGE_LABEL: stage.name.replace("_", "-")}
    if cluster.queue:
        labels[QUEUE_LABEL] = cluster.queue
    return Task(
        stage=stage.name,
        needs=tuple(sorted(graph.upstream(stage.name))),
        command=("faithline", "run-stage", stage.name),
        image=cluster.images[wanted.world],
        params=params,
        nodes=wanted.nodes,
        cpu=float(wanted.cpu),
        memory_gib=wanted.memory_gib,
        gpus=wanted.gpus,
        gpu_resource=pool.gpu.resource if pool.gpu and wanted.gpus else "",
        shm_gib=wanted.shm_gib,
        selector=tuple(sorted(pool.labels.items())),
        tolerations=tuple(sorted(_toleration(taint) for taint in pool.taints)),
        labels=tuple(sorted(labels.items())),
        user_id=cluster.user_id,
        environment=tuple(sorted(cluster.environment.items())),
        secrets=tuple(sorted((var, s.name, key) for s in cluster.secrets for var, key in s.env.items())),
        timeout_s=wanted.timeout_s,
        retries=wanted.retries,
        backoff_s=cluster.retry.backoff_s if wanted.retries else 0,
        backoff_max_s=cluster.retry.backoff_max_s if wanted.retries else 0,
        has_metrics=bool(stage.metrics),
        has_page=any(path.endswith(".html") for path in stage.products),
        cache_claim=cluster.cache_claim or "",
    )


def _toleration(taint: Taint) -> Toleration:
    return Toleration(taint.key, taint.value, taint.effect)

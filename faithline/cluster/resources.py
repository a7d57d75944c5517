"""What one stage asks of a cluster: the typed form of its `meta` block in `dvc.yaml`, checked against the pools.

A stage that no node could ever hold is refused here, before anything is rendered: the scheduler would leave its pod
pending for ever without an error. A GPU task needs shared memory, for data loaders and vLLM exchange tensors through
it and die of a bus error in Kubernetes' 64 MiB (kubeflow/pipelines #9893).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from faithline.cluster.settings import Cluster, Count, Gibibytes, Pool, Positive, World
from faithline.pipeline.errors import ConfigError
from faithline.pipeline.graph import PIPELINE_FILE, Stage
from faithline.pipeline.params import convert, nearest

__all__ = ["Resources", "objections", "stage_resources"]


class Resources(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The keys of a stage's `meta`."""

    world: World
    """Dependency world whose image runs the stage."""
    pool: str
    """Name of a pool in params.yaml, `cluster.pools`."""
    nodes: Annotated[int, msgspec.Meta(ge=1)] = 1
    """Pods that work together; cpu, memory and GPUs are of each."""
    gpus: Count = 0
    cpu: Positive
    memory_gib: Gibibytes
    shm_gib: Count = 0
    """Shared memory (/dev/shm), part of `memory_gib`."""
    timeout_s: Annotated[int, msgspec.Meta(ge=1)]
    """Seconds after which an attempt is ended."""
    retries: Annotated[int, msgspec.Meta(ge=0, le=10)]
    """Further attempts after a passing fault (exit code 75)."""
    cache: bool = True
    """Whether an earlier result for the same inputs may be taken; false: the stage runs in every cluster run. Stages
    after it are judged by content as always, so equal outputs keep them cached."""


_KEYS = ", ".join(Resources.__struct_fields__)


def stage_resources(stage: Stage, cluster: Cluster) -> Resources:
    """Return the typed `meta` of a stage, checked against its pool.

    Raises:
        ConfigError: On unknown, missing or wrong keys, or a demand that no node of the pool can meet.
    """
    where = f"{PIPELINE_FILE}: {stage.name}: meta"
    if not stage.meta:
        raise ConfigError(
            "the stage has no `meta`, which says where it runs in a cluster",
            where=f"{PIPELINE_FILE}: {stage.name}",
            next_step="add meta: {world: runtime, pool: cpu, cpu: 1, memory_gib: 4, timeout_s: 3600, retries: 2}",
        )
    try:
        resources = convert(stage.meta, Resources, Path(where))
    except ConfigError as error:
        advice = error.next_step if error.next_step.startswith("did you mean") else f"keys of meta: {_KEYS}"
        raise ConfigError(error.what, where=error.where, next_step=advice) from None
    if resources.pool not in cluster.pools:
        raise ConfigError(
            f"there is no pool `{resources.pool}`",
            where=where,
            next_step=nearest(resources.pool, sorted(cluster.pools)),
        )
    found = objections(resources, cluster.pools[resources.pool])
    if found:
        raise ConfigError(found[0], where=where, next_step="see params.yaml, cluster.pools and cluster.placements")
    return resources


def objections(wanted: Resources, pool: Pool) -> list[str]:
    """Say why the demand makes no sense on the pool; empty if it does."""
    per_node = pool.gpu.per_node if pool.gpu else 0
    checks = [
        (wanted.gpus > per_node, f"{wanted.gpus} GPUs a node, but a node of pool `{wanted.pool}` has {per_node}"),
        (
            wanted.gpus == 0 and per_node > 0,
            f"no GPU on pool `{wanted.pool}`, whose nodes are paid for theirs: choose a pool without",
        ),
        (
            wanted.gpus > 0 and wanted.world == "runtime",
            "GPUs in world `runtime`, whose torch is the CPU build: choose world `gpu`",
        ),
        (wanted.cpu > pool.cpu, f"{wanted.cpu:g} cores, but a node of pool `{wanted.pool}` gives {pool.cpu:g}"),
        (
            wanted.memory_gib > pool.memory_gib,
            f"{wanted.memory_gib} GiB, but a node of pool `{wanted.pool}` gives {pool.memory_gib}",
        ),
        (
            wanted.gpus > 0 and wanted.shm_gib == 0,
            "GPUs without shared memory (shm_gib): data loaders and vLLM would die of a bus error",
        ),
        (
            wanted.shm_gib > wanted.memory_gib,
            f"{wanted.shm_gib} GiB of shared memory count towards the memory limit, which is {wanted.memory_gib} GiB",
        ),
    ]
    return [text for wrong, text in checks if wrong]

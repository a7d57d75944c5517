"""The section `cluster` of `params.yaml`: what the cluster is, named once for every runner.

Pools say how a node group is found (labels), entered (taints) and paid; images, secrets and the store are named here
and nowhere else. No stage depends on the section, so moving a stage to another pool re-runs nothing. Secrets are named,
never held: a value comes from the Kubernetes secret of that name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from faithline.pipeline.errors import ConfigError
from faithline.pipeline.graph import PARAMS_FILE
from faithline.pipeline.params import convert
from faithline.pipeline.yaml import read_mapping

__all__ = [
    "Cluster",
    "Gpu",
    "Params",
    "Placement",
    "Pool",
    "Retry",
    "Secret",
    "Taint",
    "World",
    "load_cluster",
    "read_cluster",
]

World = Literal["runtime", "gpu"]
"""Dependency worlds a stage can run in; each has an image."""
Positive = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Gibibytes = Annotated[int, msgspec.Meta(ge=1)]
Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$")]
"""A Kubernetes object's name."""


class Taint(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A taint of a pool's nodes; tasks of the pool tolerate it."""

    key: str
    value: str
    """Empty: whatever the value is."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


class Gpu(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The accelerators of one node of a pool."""

    type: str
    """What people call it; shown in plans."""
    resource: str
    """The device plugin's resource name."""
    memory_gib: Gibibytes
    """Memory of one."""
    per_node: Annotated[int, msgspec.Meta(ge=1)]


class Pool(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A group of equal nodes."""

    labels: dict[str, str]
    """Node labels that select the pool."""
    taints: list[Taint]
    gpu: Gpu | None
    cpu: Positive
    """Cores of a node that tasks can have."""
    memory_gib: Gibibytes
    """Memory of a node that tasks can have."""
    price_per_hour: Annotated[float, msgspec.Meta(ge=0)]
    """Of one node."""


class Secret(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A Kubernetes secret whose keys become environment variables of every task."""

    name: Name
    env: dict[str, str]
    """Environment variable → key in the secret."""


class Retry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The pause before a task is tried again."""

    backoff_s: Annotated[int, msgspec.Meta(ge=1)]
    """Before the first retry; doubled before each further one."""
    backoff_max_s: Annotated[int, msgspec.Meta(ge=1)]


class Placement(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where a kind of stage runs; `meta` in `dvc.yaml` refers to its values, so that a patch can move it."""

    world: World
    pool: str
    gpus: Count
    cpu: Positive
    memory_gib: Gibibytes
    shm_gib: Count


class Cluster(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything about the cluster that is not about one stage."""

    namespace: Name
    """Of the tasks' pods."""
    service_account: Name
    queue: Name | None
    """Kueue queue the pods wait in; null where Kueue is not used."""
    store: Annotated[str, msgspec.Meta(pattern=r"^(s3|file)://.+")]
    """Where runs keep their data, lock fragments and tombstones."""
    user_id: Annotated[int, msgspec.Meta(ge=1)]
    """The images' user, not root."""
    cache_claim: Name | None
    """Volume claim mounted at `/cache` in every task, for downloaded models; null: each pod has an empty one."""
    images: dict[World, str]
    """Image of each world; pinned by digest (NAME@sha256:...) for any cluster, as `faithline lint` demands."""
    environment: dict[str, str]
    """Plain environment variables of every task, such as the store's endpoint and region; never a secret."""
    secrets: list[Secret]
    retry: Retry
    currency: str
    """Of the prices."""
    pools: dict[str, Pool]
    placements: dict[str, Placement]


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The section under its name."""

    cluster: Cluster


def load_cluster(root: Path) -> Cluster:
    """Read the section `cluster` of `root/params.yaml`.

    Raises:
        ConfigError: If it is missing or wrong; the message names the key.
    """
    path = root / PARAMS_FILE
    return read_cluster(read_mapping(path), path)


def read_cluster(raw: Mapping[str, object], path: Path) -> Cluster:
    """Read the section `cluster` of a params document; `path` is for messages.

    Raises:
        ConfigError: If it is missing or wrong; the message names the key.
    """
    if "cluster" not in raw:
        raise ConfigError(
            "there is no section `cluster`", where=str(path), next_step="take it from Faithline's own params.yaml"
        )
    return convert({"cluster": raw["cluster"]}, Params, path).cluster

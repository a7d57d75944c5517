"""Rendered manifests as pods: one plain view of what KFP's compiled pipelines and Kubernetes objects would run.

A pod template is recognised wherever it stands (Pod, Job, CronJob, Deployment, RayJob, ...): any mapping with a list
`containers`. What a document does not say is None here, so that rules can tell "off" from "not said".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from faithline.cluster.quantities import gibibytes, number
from faithline.cluster.tasks import Toleration

__all__ = ["Container", "PodView", "pods"]

LASTING_KINDS = {"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "RayService", "Notebook", "InferenceService"}
"""Kinds whose pods are meant to stay."""
SHM_PATH = "/dev/shm"  # noqa: S108 - a mount point


@dataclass(frozen=True)
class Container:
    """One container of a pod."""

    name: str
    image: str
    memory_gib: float | None
    gpus: float
    environment: Mapping[str, str]
    """Variables whose value stands in the manifest."""
    non_root: bool
    read_only_root: bool | None
    """None where the kind of document cannot say it (KFP)."""


@dataclass(frozen=True)
class PodView:
    """One pod, or the template of some."""

    name: str
    """What a reader looks for: the stage, or kind and name of the object."""
    containers: tuple[Container, ...]
    selector: Mapping[str, str]
    has_affinity: bool
    tolerations: tuple[Toleration, ...]
    shm_gib: float | None
    deadline_s: int | None
    stays: bool
    """Whether the pod is meant to run for ever."""

    @property
    def gpus(self) -> float:
        """GPUs of all containers."""
        return sum(container.gpus for container in self.containers)

    @property
    def memory_gib(self) -> float | None:
        """Memory limit of the largest container; None if one has no limit."""
        limits = [container.memory_gib for container in self.containers]
        known = [limit for limit in limits if limit is not None]
        return max(known, default=None) if len(known) == len(limits) else None


def pods(documents: Sequence[Mapping[str, Any]]) -> list[PodView]:
    """Return every pod that the documents of one file would start."""
    found: list[PodView] = []
    for document in documents:
        if "deploymentSpec" in document and "root" in document:
            found += _compiled(document, documents)
        elif "kind" in document:
            found += _objects(document)
    return found


def _compiled(spec: Mapping[str, Any], documents: Sequence[Mapping[str, Any]]) -> Iterator[PodView]:
    from faithline.kubeflow.reading import platform_executors

    platform = platform_executors(documents)
    stages = {task["componentRef"]["name"]: task["taskInfo"]["name"] for task in _tasks(spec)}
    for component_name, component in spec.get("components", {}).items():
        label = component.get("executorLabel")
        executor = spec["deploymentSpec"].get("executors", {}).get(label, {})
        if "container" not in executor:
            continue
        settings = platform.get(label, {})
        security = settings.get("securityContext", {})
        container = executor["container"]
        limits = container.get("resources", {})
        memory = limits.get("resourceMemoryLimit")
        mounts = [m for m in settings.get("emptyDirMounts", []) if m.get("mountPath", "").rstrip("/") == SHM_PATH]
        yield PodView(
            name=stages.get(component_name, component_name),
            containers=(
                Container(
                    name="main",
                    image=container.get("image", ""),
                    memory_gib=gibibytes(memory) if memory else None,
                    gpus=number(limits.get("accelerator", {}).get("resourceCount", 0)),
                    environment={entry["name"]: entry.get("value", "") for entry in container.get("env", [])},
                    non_root=_non_root(security),
                    read_only_root=None,
                ),
            ),
            selector=settings.get("nodeSelector", {}).get("labels", {}),
            has_affinity=bool(settings.get("nodeAffinity")),
            tolerations=_tolerations(settings.get("tolerations", [])),
            shm_gib=gibibytes(mounts[0]["sizeLimit"]) if mounts and mounts[0].get("sizeLimit") else None,
            deadline_s=int(settings["activeDeadlineSeconds"]) if "activeDeadlineSeconds" in settings else None,
            stays=False,
        )


def _tasks(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield every task of the pipeline and of the pipelines inside it."""
    for component in (spec["root"], *spec.get("components", {}).values()):
        yield from component.get("dag", {}).get("tasks", {}).values()


def _objects(document: Mapping[str, Any]) -> Iterator[PodView]:
    kind = str(document["kind"])
    name = f"{kind} {(document.get('metadata') or {}).get('name', '(no name)')}"
    for place, spec, deadline in _pod_specs(document, "", None):
        yield _object(f"{name}{place}", spec, deadline, stays=kind in LASTING_KINDS)


def _pod_specs(node: object, place: str, deadline: object) -> Iterator[tuple[str, Mapping[str, Any], object]]:
    """Yield (place, pod spec, the nearest deadline above it); the place names the group when there are several."""
    if isinstance(node, Mapping):
        deadline = node.get("activeDeadlineSeconds", deadline)
        if isinstance(node.get("containers"), list):
            yield place, node, deadline
            return
        for key, value in node.items():
            group = (
                f" {node['groupName']}" if "groupName" in node else f" {key}" if str(key).endswith("GroupSpec") else ""
            )
            yield from _pod_specs(value, group or place, deadline)
    elif isinstance(node, list):
        for value in node:
            yield from _pod_specs(value, place, deadline)


def _object(name: str, spec: Mapping[str, Any], deadline: object, *, stays: bool) -> PodView:
    pod_security = spec.get("securityContext") or {}
    all_containers = [*(spec.get("initContainers") or []), *spec["containers"]]
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    return PodView(
        name=name,
        containers=tuple(_container(container, pod_security) for container in all_containers),
        selector=spec.get("nodeSelector") or {},
        has_affinity="requiredDuringSchedulingIgnoredDuringExecution" in affinity,
        tolerations=_tolerations(spec.get("tolerations") or []),
        shm_gib=_shm(spec),
        deadline_s=int(str(deadline)) if deadline is not None else None,
        stays=stays,
    )


def _container(container: Mapping[str, Any], pod_security: Mapping[str, Any]) -> Container:
    limits = (container.get("resources") or {}).get("limits") or {}
    security = {**pod_security, **(container.get("securityContext") or {})}
    return Container(
        name=str(container.get("name", "")),
        image=str(container.get("image", "")),
        memory_gib=gibibytes(limits["memory"]) if "memory" in limits else None,
        gpus=sum(number(count) for resource, count in limits.items() if str(resource).endswith("/gpu")),
        environment={e["name"]: str(e["value"]) for e in container.get("env") or [] if e.get("value") is not None},
        non_root=_non_root(security),
        read_only_root=bool(security.get("readOnlyRootFilesystem", False)),
    )


def _non_root(security: Mapping[str, Any]) -> bool:
    user = security.get("runAsUser")
    return int(user) > 0 if user is not None else bool(security.get("runAsNonRoot", False))


def _tolerations(entries: Iterable[Mapping[str, Any]]) -> tuple[Toleration, ...]:
    return tuple(Toleration(str(e.get("key", "")), str(e.get("value", "")), str(e.get("effect", ""))) for e in entries)


def _shm(spec: Mapping[str, Any]) -> float | None:
    memory = {
        v["name"]: v["emptyDir"]
        for v in spec.get("volumes") or []
        if (v.get("emptyDir") or {}).get("medium") == "Memory"
    }
    for container in spec["containers"]:
        for mount in container.get("volumeMounts") or []:
            if str(mount.get("mountPath", "")).rstrip("/") == SHM_PATH and mount.get("name") in memory:
                limit = memory[mount["name"]].get("sizeLimit")
                return gibibytes(limit) if limit else None
    return None

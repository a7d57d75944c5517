"""Read a compiled pipeline back: what each task of the two documents would be in the cluster.

The counterpart of `compile`, sharing no code with it, so that a fact that got lost on the way shows. `compiled_tasks`
gives the same `Task`s as `faithline.cluster.tasks.project_tasks` does for the project that was compiled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from ruamel.yaml import YAML

from faithline.cluster.quantities import cores, gibibytes
from faithline.cluster.tasks import CACHE_MOUNT, Task, Toleration, canonical
from faithline.pipeline.errors import ConfigError

__all__ = ["compiled_tasks", "platform_executors"]


def platform_executors(documents: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the Kubernetes settings of every executor, by its label."""
    found: dict[str, dict[str, Any]] = {}
    for document in documents:
        platform = document.get("platforms", {}).get("kubernetes", {})
        found |= platform.get("deploymentSpec", {}).get("executors", {})
    return found


def compiled_tasks(documents: Sequence[Mapping[str, Any]]) -> tuple[Task, ...]:
    """Read the tasks of a compiled pipeline, sorted by stage.

    Raises:
        ConfigError: If the documents are no compiled pipeline, or a task is not one that Faithline renders.
    """
    try:
        spec = next(document for document in documents if "root" in document)
        platform = platform_executors(documents)
        tasks = spec["root"]["dag"]["tasks"]
        stages = {name: task["taskInfo"]["name"] for name, task in tasks.items()}
        found = [_task(spec, platform, task, stages) for task in tasks.values()]
    except (KeyError, StopIteration, ValueError, TypeError) as error:
        raise ConfigError(
            f"not a pipeline that `faithline kfp compile` wrote: {type(error).__name__} {error}",
            next_step="compile it again",
        ) from None
    return tuple(sorted(found, key=lambda task: task.stage))


def _task(
    spec: Mapping[str, Any], platform: Mapping[str, Any], task: Mapping[str, Any], stages: Mapping[str, str]
) -> Task:
    component = spec["components"][task["componentRef"]["name"]]
    label = component["executorLabel"]
    container = spec["deploymentSpec"]["executors"][label]["container"]
    settings = platform[label]
    limits = container["resources"]
    gpus = limits.get("accelerator", {})
    retry = task.get("retryPolicy", {})
    artifacts = component.get("outputDefinitions", {}).get("artifacts", {})
    kinds = {artifact["artifactType"]["schemaTitle"] for artifact in artifacts.values()}
    return Task(
        stage=task["taskInfo"]["name"],
        needs=tuple(sorted(stages[name] for name in task.get("dependentTasks", []))),
        command=_stage_command(container["command"]),
        image=container["image"],
        params=_params(spec, task),
        nodes=1,
        cpu=cores(limits["resourceCpuLimit"]),
        memory_gib=int(gibibytes(limits["resourceMemoryLimit"])),
        gpus=int(gpus.get("resourceCount", 0)),
        gpu_resource=gpus.get("resourceType", ""),
        shm_gib=_shm(settings),
        selector=tuple(sorted(settings.get("nodeSelector", {}).get("labels", {}).items())),
        tolerations=tuple(
            sorted(
                Toleration(t["key"], t.get("value", ""), t.get("effect", "")) for t in settings.get("tolerations", [])
            )
        ),
        labels=tuple(sorted(settings.get("podMetadata", {}).get("labels", {}).items())),
        user_id=int(settings["securityContext"]["runAsUser"]),
        environment=tuple(sorted((entry["name"], entry["value"]) for entry in container.get("env", []))),
        secrets=tuple(
            sorted(
                (pair["envVar"], secret["secretName"], pair["secretKey"])
                for secret in settings.get("secretAsEnv", [])
                for pair in secret["keyToEnv"]
            )
        ),
        timeout_s=int(settings["activeDeadlineSeconds"]),
        retries=int(retry.get("maxRetryCount", 0)),
        backoff_s=_seconds(retry.get("backoffDuration")),
        backoff_max_s=_seconds(retry.get("backoffMaxDuration")),
        has_metrics="system.Metrics" in kinds,
        has_page="system.HTML" in kinds,
        cache_claim=_cache_claim(settings),
    )


def _stage_command(command: Sequence[str]) -> tuple[str, ...]:
    """Cut Faithline's wrapper and the run's own arguments off."""
    start = command.index("--") + 1
    return tuple(command[start : command.index("--run-id", start)])


def _params(spec: Mapping[str, Any], task: Mapping[str, Any]) -> str:
    """Return the params document that reaches the task, following the wiring."""
    source = task["inputs"]["parameters"]["params"]["componentInputParameter"]
    text = spec["root"]["inputDefinitions"]["parameters"][source]["defaultValue"]
    return canonical(YAML(typ="safe", pure=True).load(text))


def _shm(settings: Mapping[str, Any]) -> int:
    for mount in settings.get("emptyDirMounts", []):
        if PurePosixPath(mount["mountPath"]) == PurePosixPath("/dev/shm") and mount.get("medium") == "Memory":  # noqa: S108
            return int(gibibytes(mount["sizeLimit"]))
    return 0


def _cache_claim(settings: Mapping[str, Any]) -> str:
    for mount in settings.get("pvcMount", []):
        if PurePosixPath(mount["mountPath"]) == PurePosixPath(CACHE_MOUNT):
            named = mount.get("constant") or mount["pvcNameParameter"]["runtimeValue"]["constant"]
            return str(named)
    return ""


def _seconds(duration: str | None) -> int:
    return int(duration.removesuffix("s")) if duration else 0

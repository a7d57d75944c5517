"""Compile the pipeline for Kubeflow: `dvc.yaml` → pipeline spec and Kubernetes platform spec, one container per stage.

The two documents are the compiled form that KFP's client, its UI and its local runner take. Facts come from
`faithline.cluster.tasks` alone. Decisions:

- The run id is KFP's own, so a cloned or scheduled run never writes into another run's records.
- The params document travels whole, as one pipeline parameter; its default is the project's `params.yaml`.
- KFP's caching is off, said task by task: its key knows neither code nor data and its hits are never checked for the
  data still being there (kubeflow/pipelines #7939). DVC's run cache, inside `faithline run-stage`, is the cache.
- Retries pause (KFP's default is none, #9950), and `--tombstone` makes attempts after a lasting failure end at once.
- The same project gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from faithline.cluster.tasks import CACHE_MOUNT, Task, read_project
from faithline.pipeline.errors import ConfigError
from faithline.pipeline.graph import PARAMS_FILE

if TYPE_CHECKING:
    from kfp.dsl import PipelineTask
    from kfp.dsl.graph_component import GraphComponent

__all__ = ["MAX_PARAMS_BYTES", "compile_documents", "compile_project"]

MAX_PARAMS_BYTES = 60_000
"""The params document is quoted inside one argument of the container's command, and Linux takes 128 KiB in one."""
SHM_VOLUME = "shm"


def compile_project(root: Path) -> str:
    """Compile a project to the YAML text that KFP takes.

    Raises:
        ConfigError: If `dvc.yaml` or `params.yaml` cannot be rendered.
    """
    return yaml.dump_all(compile_documents(root), Dumper=_Dumper, sort_keys=True, width=10_000, allow_unicode=True)


def compile_documents(root: Path) -> list[dict[str, Any]]:
    """Compile a project to its two documents: pipeline spec and platform spec.

    Raises:
        ConfigError: If `dvc.yaml` or `params.yaml` cannot be rendered.
    """
    from google.protobuf import json_format

    cluster, tasks = read_project(root)
    params = (root / PARAMS_FILE).read_text(encoding="utf-8")
    if len(params.encode()) > MAX_PARAMS_BYTES:
        raise ConfigError(
            f"the params document has {len(params.encode())} bytes, {MAX_PARAMS_BYTES} fit a task's command",
            where=PARAMS_FILE,
            next_step="move long lists into data files",
        )
    pipeline = _pipeline(tasks, cluster.store, params)
    return [json_format.MessageToDict(spec) for spec in (pipeline.pipeline_spec, pipeline.platform_spec)]


def _pipeline(tasks: Sequence[Task], default_store: str, default_params: str) -> GraphComponent:
    from kfp import dsl

    components = {task.stage: _component(task) for task in tasks}

    def pipeline(store: str = default_store, params: str = default_params) -> None:
        made: dict[str, PipelineTask] = {}
        for task in tasks:
            made[task.stage] = components[task.stage](
                run_id=dsl.PIPELINE_JOB_ID_PLACEHOLDER, store=store, params=params
            )
            _place(made[task.stage], task)
            made[task.stage].after(*(made[name] for name in task.needs))

    pipeline.__annotations__ = {
        "store": str,
        "params": str,
    }  # KFP reads types, not the texts a __future__ import leaves
    decorate: Callable[..., GraphComponent] = dsl.pipeline(
        name="faithline", description="The stages of dvc.yaml, each a DVC run whose lock fragment is found by run id"
    )
    return decorate(pipeline)


def _component(task: Task) -> Callable[..., PipelineTask]:
    from kfp import components

    outputs = [("metrics", "Metrics")] * task.has_metrics + [("page", "HTML")] * task.has_page
    command: list[object] = ["faithline", "kfp", "task", "--executor-input", "{{$}}"]
    for name, _ in outputs:
        command += [f"--{name}", {"outputPath": name}]
    command += ["--", *task.command, "--run-id", {"inputValue": "run_id"}, "--store", {"inputValue": "store"}]
    command += ["--tombstone"]
    document = {
        "name": task.stage,
        "inputs": [{"name": name, "type": "String"} for name in ("run_id", "store", "params")],
        "outputs": [{"name": name, "type": kind} for name, kind in outputs],
        "implementation": {"container": {"image": task.image, "command": command}},
    }
    loaded: Callable[..., PipelineTask] = components.load_component_from_text(json.dumps(document))
    return loaded


def _place(step: PipelineTask, task: Task) -> None:
    from kfp import kubernetes

    if task.nodes > 1:
        raise ConfigError(
            f"stage {task.stage} asks for {task.nodes} nodes, and a Kubeflow task is one pod",
            where=f"dvc.yaml: {task.stage}: meta",
            next_step="set nodes: 1, or let the stage's command start its own workers",
        )
    step.set_display_name(task.stage)
    step.set_caching_options(enable_caching=False)
    step.set_cpu_request(f"{task.cpu:g}").set_cpu_limit(f"{task.cpu:g}")
    step.set_memory_request(f"{task.memory_gib}Gi").set_memory_limit(f"{task.memory_gib}Gi")
    if task.gpus:
        step.set_accelerator_type(task.gpu_resource).set_accelerator_limit(task.gpus)
    if task.retries:
        step.set_retry(
            task.retries,
            backoff_duration=f"{task.backoff_s}s",
            backoff_factor=2.0,
            backoff_max_duration=f"{task.backoff_max_s}s",
        )
    for name, value in task.environment:
        step.set_env_variable(name, value)
    for variable, secret, key in task.secrets:
        kubernetes.use_secret_as_env(step, secret, {key: variable})
    for label, value in task.selector:
        kubernetes.add_node_selector(step, label, value)
    for taint in task.tolerations:
        if taint.value:
            kubernetes.add_toleration(step, taint.key, "Equal", taint.value, taint.effect)
        else:
            kubernetes.add_toleration(step, taint.key, "Exists", effect=taint.effect)
    if task.shm_gib:
        kubernetes.empty_dir_mount(step, SHM_VOLUME, "/dev/shm", "Memory", f"{task.shm_gib}Gi")  # noqa: S108 - a mount point
    if task.cache_claim:
        kubernetes.mount_pvc(step, task.cache_claim, CACHE_MOUNT)
    for label, value in task.labels:
        kubernetes.add_pod_label(step, label, value)
    kubernetes.set_timeout(step, task.timeout_s)
    kubernetes.set_security_context(step, run_as_user=task.user_id, run_as_non_root=True)


class _Dumper(yaml.CSafeDumper):
    """Writes texts of several lines as blocks, so that the params document stays readable."""


def _text(dumper: yaml.CSafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)

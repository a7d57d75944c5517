"""The compiled pipeline states what `dvc.yaml` states: parity field by field, and what KFP itself makes of it."""

from __future__ import annotations

import copy
import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from faithline.cluster.lint import lint_documents
from faithline.cluster.settings import load_cluster
from faithline.cluster.tasks import Task, Toleration, project_tasks
from faithline.kubeflow.compile import compile_documents, compile_project
from faithline.kubeflow.reading import compiled_tasks
from faithline.pipeline.errors import ConfigError

Edit = Callable[[Path, Callable[[Any], None]], None]
ROOT = Path(__file__).resolve().parents[2]
Documents = list[dict[str, Any]]


def declared(root: Path) -> tuple[Task, ...]:
    return tuple(sorted(project_tasks(root), key=lambda task: task.stage))


@pytest.fixture
def documents(toy: Path) -> Documents:
    return list(yaml.safe_load_all(compile_project(toy)))


def executor(documents: Documents, name: str) -> dict[str, Any]:
    found: dict[str, Any] = documents[0]["deploymentSpec"]["executors"][f"exec-{name}"]["container"]
    return found


def platform(documents: Documents, name: str) -> dict[str, Any]:
    found: dict[str, Any] = documents[1]["platforms"]["kubernetes"]["deploymentSpec"]["executors"][f"exec-{name}"]
    return found


def step(documents: Documents, name: str) -> dict[str, Any]:
    found: dict[str, Any] = documents[0]["root"]["dag"]["tasks"][name]
    return found


def test_the_toy_by_hand(toy: Path, documents: Documents) -> None:
    train = next(task for task in compiled_tasks(documents) if task.stage == "train")
    assert train == Task(
        stage="train",
        needs=("prepare_text",),
        command=("faithline", "run-stage", "train"),
        image="registry.example/gpu@sha256:" + "0" * 63 + "2",
        params=train.params,
        nodes=1,
        cpu=6.0,
        memory_gib=24,
        gpus=1,
        gpu_resource="nvidia.com/gpu",
        shm_gib=8,
        selector=(("pool", "gpu-small"),),
        tolerations=(Toleration("nvidia.com/gpu", "", "NoSchedule"), Toleration("team", "ml", "NoExecute")),
        labels=(("faithline.dev/stage", "train"), ("kueue.x-k8s.io/queue-name", "gpu-queue")),
        user_id=10001,
        environment=(("AWS_REGION", "eu-central-1"),),
        secrets=(("AWS_ACCESS_KEY_ID", "store", "id"), ("AWS_SECRET_ACCESS_KEY", "store", "key")),
        timeout_s=7200,
        retries=3,
        backoff_s=30,
        backoff_max_s=600,
        has_metrics=True,
        has_page=False,
        cache_claim="cache",
    )
    assert json.loads(train.params)["rate"] == 0.001
    report = next(task for task in compiled_tasks(documents) if task.stage == "report")
    assert (report.needs, report.has_page, report.retries) == (("prepare_text", "train"), True, 0)


def test_parity(toy: Path, documents: Documents) -> None:
    assert compiled_tasks(documents) == declared(toy)


def test_parity_of_this_repository() -> None:
    documents = compile_documents(ROOT)
    assert compiled_tasks(documents) == declared(ROOT)
    # images get their digest where they are pushed; nothing else may be wrong
    assert {finding.rule for finding in lint_documents(documents, load_cluster(ROOT).pools, "x")} <= {"image"}


@pytest.mark.parametrize(
    ("field", "mutate"),
    [
        ("needs", lambda d: step(d, "train").pop("dependentTasks")),
        ("needs", lambda d: step(d, "train").update(dependentTasks=["report"])),
        ("command", lambda d: executor(d, "train")["command"].__setitem__(-6, "report")),
        ("image", lambda d: executor(d, "train").update(image="other")),
        ("params", lambda d: d[0]["root"]["inputDefinitions"]["parameters"]["params"].update(defaultValue="rate: 2\n")),
        ("cpu", lambda d: executor(d, "train")["resources"].update(resourceCpuLimit="5")),
        ("memory_gib", lambda d: executor(d, "train")["resources"].update(resourceMemoryLimit="23Gi")),
        ("gpus", lambda d: executor(d, "train")["resources"]["accelerator"].update(resourceCount="2")),
        ("gpu_resource", lambda d: executor(d, "train")["resources"]["accelerator"].update(resourceType="amd.com/gpu")),
        ("shm_gib", lambda d: platform(d, "train").pop("emptyDirMounts")),
        ("selector", lambda d: platform(d, "train").pop("nodeSelector")),
        ("tolerations", lambda d: platform(d, "train")["tolerations"].pop()),
        ("labels", lambda d: platform(d, "train").pop("podMetadata")),
        ("cache_claim", lambda d: platform(d, "train").pop("pvcMount")),
        ("cache_claim", lambda d: platform(d, "train")["pvcMount"][0].update(mountPath="/other")),
        ("user_id", lambda d: platform(d, "train")["securityContext"].update(runAsUser="0")),
        ("environment", lambda d: executor(d, "train").pop("env")),
        ("secrets", lambda d: platform(d, "train").pop("secretAsEnv")),
        ("timeout_s", lambda d: platform(d, "train").update(activeDeadlineSeconds="7201")),
        ("retries", lambda d: step(d, "train")["retryPolicy"].update(maxRetryCount=2)),
        ("backoff_s", lambda d: step(d, "train")["retryPolicy"].update(backoffDuration="0s")),
        ("backoff_max_s", lambda d: step(d, "train")["retryPolicy"].update(backoffMaxDuration="1s")),
        ("has_metrics", lambda d: d[0]["components"]["comp-train"].pop("outputDefinitions")),
        ("stage", lambda d: step(d, "train")["taskInfo"].update(name="other")),
    ],
)
def test_a_mutated_rendering_is_noticed(
    toy: Path, documents: Documents, field: str, mutate: Callable[[Documents], object]
) -> None:
    mutate(documents)
    found = compiled_tasks(documents)
    assert found != declared(toy)
    by_stage = {task.stage: task for task in found}
    other = by_stage.get("train") or by_stage["other"]
    (train,) = [task for task in declared(toy) if task.stage == "train"]
    assert getattr(other, field) != getattr(train, field)


def test_every_field_has_a_mutation() -> None:
    marks = test_a_mutated_rendering_is_noticed.pytestmark  # type: ignore[attr-defined]
    covered = {case[0] for case in marks[0].args[1]}
    fields = {field.name for field in dataclasses.fields(Task)}
    # A KFP task is one pod and the page is the train stage's sister of the metrics.
    assert fields - covered == {"nodes", "has_page"}


def test_a_removed_stage_is_noticed(toy: Path, documents: Documents) -> None:
    del documents[0]["root"]["dag"]["tasks"]["report"]
    assert compiled_tasks(documents) != declared(toy)


def test_the_same_project_gives_the_same_bytes(toy: Path) -> None:
    assert compile_project(toy) == compile_project(toy)


def test_kfp_takes_the_text(toy: Path, tmp_path: Path) -> None:
    from google.protobuf import json_format
    from kfp import components
    from kfp.pipeline_spec import pipeline_spec_pb2

    path = tmp_path / "pipeline.yaml"
    path.write_text(compile_project(toy), encoding="utf-8")
    loaded = components.load_component_from_file(str(path))
    assert set(loaded.pipeline_spec.root.input_definitions.parameters) == {"params", "store"}
    spec, settings = yaml.safe_load_all(path.read_text(encoding="utf-8"))
    json_format.ParseDict(spec, pipeline_spec_pb2.PipelineSpec())
    json_format.ParseDict(settings, pipeline_spec_pb2.PlatformSpec())
    # the document travels as it was written, comments too
    assert spec["root"]["inputDefinitions"]["parameters"]["params"]["defaultValue"] == (toy / "params.yaml").read_text()


def test_decisions_that_no_field_holds(documents: Documents) -> None:
    for name in ("prepare-text", "train", "report"):
        task = step(documents, name)
        assert task["cachingOptions"] == {}  # said, and off
        assert task["inputs"]["parameters"]["run_id"]["runtimeValue"]["constant"] == "{{$.pipeline_job_uuid}}"
        command = executor(documents, name)["command"]
        assert command[:5] == ["faithline", "kfp", "task", "--executor-input", "{{$}}"]
        assert command[-1] == "--tombstone"
    assert "retryPolicy" not in step(documents, "report")
    artifacts = documents[0]["components"]["comp-report"]["outputDefinitions"]["artifacts"]
    assert artifacts["page"]["artifactType"]["schemaTitle"] == "system.HTML"


def test_the_rendering_passes_the_linter_and_mutations_do_not(toy: Path, documents: Documents) -> None:
    pools = load_cluster(toy).pools

    def found(mutate: Callable[[Documents], object]) -> list[tuple[str, str]]:
        changed = copy.deepcopy(documents)
        mutate(changed)
        return [(finding.where, finding.rule) for finding in lint_documents(changed, pools, "x")]

    assert found(lambda d: None) == []
    assert found(lambda d: platform(d, "train").pop("nodeSelector")) == [("train", "placement")]
    assert found(lambda d: platform(d, "train").pop("tolerations")) == [("train", "placement")]
    assert found(lambda d: platform(d, "train").pop("emptyDirMounts")) == [("train", "shm")]
    assert found(lambda d: platform(d, "train")["emptyDirMounts"][0].update(sizeLimit="25Gi")) == [("train", "shm")]
    assert found(lambda d: platform(d, "report").pop("activeDeadlineSeconds")) == [("report", "deadline")]
    assert found(lambda d: platform(d, "report").pop("securityContext")) == [("report", "root")]
    assert found(lambda d: executor(d, "report").update(image="x:dev")) == [("report", "image")]
    assert found(lambda d: step(d, "train")["retryPolicy"].pop("backoffDuration")) == [("train", "retries")]
    assert found(lambda d: step(d, "train")["cachingOptions"].update(enableCache=True)) == [("train", "cache")]
    assert found(lambda d: executor(d, "train")["env"].append({"name": "HF_TOKEN", "value": "x"})) == [
        ("train", "secret")
    ]


def test_retries_in_a_loop_are_refused(documents: Documents) -> None:
    inner = {"train": step(documents, "train")}
    documents[0]["components"]["comp-loop"] = {"dag": {"tasks": inner}}
    documents[0]["root"]["dag"]["tasks"] = {
        "loop": {"componentRef": {"name": "comp-loop"}, "parameterIterator": {}, "taskInfo": {"name": "loop"}}
    }
    found = lint_documents(documents, {}, "x")
    assert [(f.where, f.rule) for f in found] == [("train", "retries")]


def test_what_cannot_be_rendered(toy: Path, edit: Edit, documents: Documents) -> None:
    edit(toy / "dvc.yaml", lambda d: d["stages"]["train"]["meta"].update(nodes=2))
    with pytest.raises(ConfigError, match="a Kubeflow task is one pod"):
        compile_project(toy)
    edit(toy / "dvc.yaml", lambda d: d["stages"]["train"]["meta"].update(nodes=1))
    edit(toy / "params.yaml", lambda d: d["cluster"]["images"].pop("gpu"))
    with pytest.raises(ConfigError, match="no image for world `gpu` of stage train"):
        compile_project(toy)
    edit(toy / "params.yaml", lambda d: (d["cluster"]["images"].update(gpu="x"), d.update(size="x" * 70_000)))
    with pytest.raises(ConfigError, match="60000 fit a task's command"):
        compile_project(toy)
    with pytest.raises(ConfigError, match="not a pipeline that"):
        compiled_tasks([{"kind": "Pod"}])
    del documents[0]["components"]
    with pytest.raises(ConfigError, match="compile it again"):
        compiled_tasks(documents)


def test_twenty_stages_compile_quickly(toy: Path, edit: Edit) -> None:
    def many(document: Any) -> None:
        for number in range(17):
            document["stages"][f"more_{number}"] = {
                "cmd": "true",
                "deps": ["models/m"],
                "outs": [f"out/{number}"],
                "meta": dict(document["stages"]["train"]["meta"]),
            }

    edit(toy / "dvc.yaml", many)
    # In a process of its own: KFP walks the call stack at each step, and pytest's is deep.
    program = (
        "import sys, time\nfrom pathlib import Path\nfrom faithline.kubeflow.compile import compile_project\n"
        "def once():\n    begin = time.process_time()\n    compile_project(Path(sys.argv[1]))\n"
        "    return time.process_time() - begin\n"
        "once()  # imports\nprint(min(once() for _ in range(2)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(toy)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    # 0.25 to 0.4 s on an idle machine; the rest is for one that is not.
    assert float(done.stdout) <= 3.0

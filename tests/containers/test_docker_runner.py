"""Kubeflow's own local runner starts the built image through podman's Docker API."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.containers.conftest import Node

pytestmark = pytest.mark.slow
STAGE = (
    "faithline params apply conf/tiny.yaml && python -m components.generate_sample"
    ' && mkdir -p "$(dirname "$1")" && cp data/raw/sample/record.json "$1"'
)


@pytest.fixture
def runner(kfp_docker: Node) -> None:
    from kfp import local

    local.init(local.DockerRunner(network_mode="none", entrypoint="env"), pipeline_root=str(kfp_docker.root))


def pipeline(image: str, script: str) -> Any:
    from kfp import components, dsl

    step = components.load_component_from_text(
        json.dumps(
            {
                "name": "sample",
                "outputs": [{"name": "record", "type": "String"}],
                "implementation": {
                    "container": {"image": image, "command": ["sh", "-c", script, "-", {"outputPath": "record"}]}
                },
            }
        )
    )

    def one_task() -> str:
        return step().outputs["record"]

    one_task.__annotations__ = {"return": str}
    return dsl.pipeline(name="one-task")(one_task)


def test_a_stage_runs_as_a_task(runner: None, runtime_image: str) -> None:
    run = pipeline(runtime_image, STAGE)()
    record = json.loads(run.outputs[next(iter(run.outputs))])
    assert record["stage"] == "generate_sample"
    assert record["params"]["generate_sample"]["hotpotqa"]["questions"] == 24


def test_a_failed_task_fails_the_run(runner: None, runtime_image: str) -> None:
    with pytest.raises(RuntimeError, match="sample"):
        pipeline(runtime_image, "exit 20")()

"""The compiled pipeline run by KFP's own local engine, real commands and all; only the Docker daemon is a stand-in.

The stand-in starts what the daemon would start, as a process in a fresh clone of the project, so everything else is
real: the compiled text, KFP's orchestrator and placeholders, the wrapper, `run-stage`, DVC, the store.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faithline.cluster.tombstone import read_tombstone
from faithline.kubeflow.compile import compile_project
from faithline.store.objects import FolderStore

ROOT = Path(__file__).resolve().parents[2]


class Daemon:
    """Runs a container's command in a clone of the image's project, one clone per container."""

    def __init__(self, image: Path, clones: Path) -> None:
        self.image = image
        self.clones = clones
        self.ran: list[str] = []
        self.codes: list[int] = []

    def run(self, *, command: list[str], **_: Any) -> Any:
        clone = Path(shutil.copytree(self.image, self.clones / str(len(self.ran))))
        self.ran.append(command[command.index("run-stage") + 1])
        argv = [
            part
            for word in command
            for part in ([sys.executable, "-m", "faithline.cli"] if word == "faithline" else [word])
        ]
        done = subprocess.run(argv, cwd=clone, capture_output=True, check=False, env=self.environment())
        self.codes.append(done.returncode)
        return types.SimpleNamespace(
            logs=lambda **_: iter([done.stdout + done.stderr]), wait=lambda: {"StatusCode": done.returncode}
        )

    @staticmethod
    def environment() -> dict[str, str]:
        return os.environ | {"PYTHONPATH": str(ROOT)}


@pytest.fixture
def daemon(toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    from dvc.repo import Repo
    from kfp import local

    Repo.init(str(toy), no_scm=True)
    text = (toy / "params.yaml").read_text().replace("s3://bucket/runs", f"file://{tmp_path}/store")
    (toy / "params.yaml").write_text(text)
    found = Daemon(toy, tmp_path / "clones")
    image = types.SimpleNamespace(tags=[], attrs={"RepoDigests": _images(text)})
    client = types.SimpleNamespace(
        images=types.SimpleNamespace(list=lambda: [image]), containers=found, info=dict, close=lambda: None
    )
    module: Any = types.ModuleType("docker")
    module.from_env, module.DockerClient, module.errors = (
        lambda: client,
        object,
        types.SimpleNamespace(NotFound=KeyError),
    )
    monkeypatch.setitem(sys.modules, "docker", module)
    from kfp.local import docker_task_handler

    monkeypatch.setattr(docker_task_handler, "docker", module, raising=False)
    local.init(local.DockerRunner(), pipeline_root=str(tmp_path / "root"), raise_on_error=True)
    yield found
    local.config.LocalExecutionConfig.instance = None


def _images(text: str) -> list[str]:
    from ruamel.yaml import YAML

    images: dict[str, str] = YAML(typ="safe").load(text)["cluster"]["images"]
    return list(images.values())


def start(toy: Path, **arguments: str) -> Any:
    from kfp import components

    path = toy.parent / "pipeline.yaml"
    path.write_text(compile_project(toy), encoding="utf-8")
    return components.load_component_from_file(str(path))(**arguments)


def test_a_run_in_clones_that_share_only_the_store(daemon: Daemon, toy: Path, tmp_path: Path) -> None:
    start(toy)
    assert daemon.ran == ["prepare_text", "train", "report"]
    assert daemon.codes == [0, 0, 0]
    (metrics,) = (tmp_path / "root").rglob("train/metrics")
    assert json.loads(metrics.read_text()) == {"loss": 0.5, "sets.a": 1}
    (page,) = (tmp_path / "root").rglob("report/page")
    assert page.read_text() == "WORDS\n{}\n"
    (output,) = (tmp_path / "root").rglob("train/executor_output.json")
    (artifact,) = json.loads(output.read_text())["artifacts"]["metrics"]["artifacts"]
    assert artifact["metadata"] == {"loss": 0.5, "sets.a": 1}
    assert {path.parent.name for path in (tmp_path / "store" / "runs").rglob("fragment.yaml")} == set(daemon.ran)


def test_other_params_reach_the_stages(daemon: Daemon, toy: Path, tmp_path: Path) -> None:
    start(toy, params=(toy / "params.yaml").read_text().replace("size: 100", "size: 3"))
    (page,) = (tmp_path / "root").rglob("report/page")
    assert page.read_text() == "WOR{}\n"


def test_a_failed_stage_fails_the_run_and_leaves_a_tombstone(daemon: Daemon, toy: Path, tmp_path: Path) -> None:
    text = (toy / "dvc.yaml").read_text().replace("mkdir -p models/m metrics", "exit 30")
    (toy / "dvc.yaml").write_text(text.replace("retries: 3", "retries: 2"))
    (toy / "params.yaml").write_text((toy / "params.yaml").read_text().replace("backoff_s: 30", "backoff_s: 1"))
    with pytest.raises(RuntimeError, match="train"):
        start(toy)
    # KFP's retry knows no classes: it starts the stage again, and each attempt ends at once with the same code
    assert daemon.ran == ["prepare_text", "train", "train", "train"]
    assert daemon.codes == [0, 30, 30, 30]
    (run,) = (tmp_path / "store" / "runs").iterdir()
    found = read_tombstone(FolderStore(tmp_path / "store"), run.name, "train")
    assert found is not None
    assert found.exit_code == 30
    attempts = list(run.rglob("train/attempts/*"))
    assert len(attempts) == 1


def test_a_passing_fault_is_tried_again(daemon: Daemon, toy: Path, tmp_path: Path) -> None:
    # Two attempts fail with 75, the third finds both marks and goes on.
    mark = f"{tmp_path}/$n"
    fault = f"for n in 1 2; do test -e {mark} || {{ touch {mark}; exit 75; }}; done; mkdir -p models/m metrics"
    (toy / "dvc.yaml").write_text((toy / "dvc.yaml").read_text().replace("mkdir -p models/m metrics", fault))
    (toy / "params.yaml").write_text((toy / "params.yaml").read_text().replace("backoff_s: 30", "backoff_s: 1"))
    start(toy)
    assert daemon.ran == ["prepare_text", "train", "train", "train", "report"]
    assert daemon.codes == [0, 75, 75, 0, 0]

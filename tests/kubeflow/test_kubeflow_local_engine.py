"""The compiled pipeline run by KFP's own local engine, real commands and all; only the Docker daemon is a stand-in."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faithline.cluster.tombstone import read_tombstone
from faithline.kubeflow.compile import compile_project
from faithline.store.objects import FolderStore
from tests.kubeflow.conftest import Daemon

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def daemon(toy: Path, tmp_path: Path, make_daemon: Callable[..., Daemon]) -> Daemon:
    from dvc.repo import Repo

    Repo.init(str(toy), no_scm=True)
    text = (toy / "params.yaml").read_text().replace("s3://bucket/runs", f"file://{tmp_path}/store")
    (toy / "params.yaml").write_text(text)
    found: Daemon = make_daemon(
        toy,
        lambda image, number: Path(shutil.copytree(image, tmp_path / "clones" / str(number))),
        {"PYTHONPATH": str(ROOT)},
    )
    return found


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

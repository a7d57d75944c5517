"""The whole sample pipeline in clones that share only an S3 server: by `run-stage` alone, and by KFP's local engine.

The second run finds the first one's results in the run cache, so that what a container does is tried for every stage
without training twice; real containers are in `tests/containers`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.store_servers import KEYS, client
from faithline.kubeflow.compile import compile_project
from faithline.pipeline.graph import load_graph
from faithline.store.objects import open_store
from tests.kubeflow.conftest import Daemon
from tests.runs.sample import PATH, REGISTRY_BUCKET, adopt, call, check_pull, clone, local_lock, make_origin

pytestmark = pytest.mark.slow
BUCKET = "sample"
STORE = f"s3://{BUCKET}/runs"


@pytest.fixture(scope="module")
def store(s3_port: int) -> Iterator[str]:
    """A store, and the environment that reaches it."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**KEYS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{s3_port}"}.items():
            patch.setenv(name, value)
        for bucket in (BUCKET, REGISTRY_BUCKET):
            client(s3_port).create_bucket(Bucket=bucket)
        yield STORE


def test_run_stage_gives_the_lock_of_one_local_run(
    store: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    origin = make_origin(tmp_path / "origin")
    for stage in load_graph(origin).order():
        here = clone(origin, tmp_path / stage)
        call(here, "faithline.cli", "run-stage", stage, "--run-id", "R", "--store", store)
        shutil.rmtree(here)
    colleague = adopt(origin, tmp_path, store, "R")
    check_pull(colleague, store)
    assert (colleague / "dvc.lock").read_bytes() == local_lock(tmp_path_factory)


def test_the_compiled_pipeline_gives_the_lock_of_one_local_run(
    store: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, make_daemon: Callable[..., Daemon]
) -> None:
    from kfp import components

    origin = make_origin(tmp_path / "origin", {"store": store})

    def fresh(image: Path, number: int) -> Path:
        shutil.rmtree(tmp_path / f"clone-{number - 1}", ignore_errors=True)
        return clone(image, tmp_path / f"clone-{number}")

    daemon = make_daemon(origin, fresh, {"PATH": PATH})
    package = tmp_path / "pipeline.yaml"
    package.write_text(compile_project(origin), encoding="utf-8")
    components.load_component_from_file(str(package))()
    graph = load_graph(origin)
    assert sorted(daemon.ran) == sorted(graph.stages)
    assert all(set(graph.upstream(stage)) <= set(daemon.ran[:number]) for number, stage in enumerate(daemon.ran))
    (run_id,) = {entry.key.split("/")[1] for entry in open_store(store).list("runs/")} - {"R"}
    assert (adopt(origin, tmp_path, store, run_id) / "dvc.lock").read_bytes() == local_lock(tmp_path_factory)

"""The whole sample pipeline as containers of the built image: KFP's local engine, podman, an S3 server."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from benchmarks.store_servers import KEYS, client
from faithline.cluster.tasks import CACHE_MOUNT
from faithline.kubeflow.compile import compile_project
from faithline.pipeline.graph import load_graph
from faithline.pipeline.machine import cache_folder
from faithline.store.objects import open_store
from tests.containers.conftest import Node
from tests.runs.sample import REGISTRY_BUCKET, adopt, check_pull, local_lock, make_origin

pytestmark = pytest.mark.slow
SECRETS = {"AWS_ACCESS_KEY_ID": "access_key_id", "AWS_SECRET_ACCESS_KEY": "secret_access_key"}


def filled_cache(folder: Path) -> Path:
    """Make a cache volume with the models' packages, as a cluster without a registry has it."""
    (folder / "faithline").mkdir(parents=True)
    shutil.copytree(cache_folder(os.environ, Path.home()) / "packages", folder / "faithline/packages")
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 10001, 10001)
    return folder


def test_containers_give_the_lock_of_one_local_run(
    bucket: str,
    s3_port: int,
    runtime_image: str,
    kfp_docker: Node,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    from kfp import components, local

    store = f"s3://{bucket}/runs"
    client(s3_port).create_bucket(Bucket=REGISTRY_BUCKET)
    expected = local_lock(tmp_path_factory)  # fetches the packages too
    origin = make_origin(
        tmp_path / "origin",
        {
            "store": store,
            "images": {"runtime": runtime_image},
            "environment": {"AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": f"http://127.0.0.1:{s3_port}"},
            "secrets": [{"name": "faithline-store", "env": SECRETS}],
            "cache_claim": "faithline-cache",
        },
    )
    kfp_docker.secrets |= {name: KEYS[name] for name in SECRETS}
    kfp_docker.volumes |= {str(filled_cache(tmp_path / "cache")): {"bind": CACHE_MOUNT, "mode": "rw"}}
    local.init(
        local.DockerRunner(network_mode="host", entrypoint="env", cap_drop=["ALL"]), pipeline_root=str(kfp_docker.root)
    )
    package = tmp_path / "pipeline.yaml"
    package.write_text(compile_project(origin), encoding="utf-8")
    components.load_component_from_file(str(package))()

    graph = load_graph(origin)
    assert kfp_docker.codes == [0] * len(graph.stages)
    (run_id,) = {entry.key.split("/")[1] for entry in open_store(store).list("runs/")}
    colleague = adopt(origin, tmp_path, store, run_id)
    assert (colleague / "dvc.lock").read_bytes() == expected
    check_pull(colleague, store)
    shown = {path.relative_to(kfp_docker.root).parts[-2] for path in kfp_docker.root.rglob("metrics")}
    assert shown == {name.replace("_", "-") for name, stage in graph.stages.items() if stage.metrics}
    assert not any(value in package.read_text(encoding="utf-8") for value in kfp_docker.secrets.values())

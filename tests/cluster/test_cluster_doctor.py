"""The checkup against real files, real sockets, and a small server that answers as the Kubernetes API does."""

from __future__ import annotations

import base64
import dataclasses
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from faithline.cluster.doctor import kubernetes, machine, store
from faithline.cluster.doctor.checkup import Check, Probe, Scene, checkup
from faithline.cluster.settings import load_cluster
from faithline.cluster.tasks import project_tasks

Edit = Callable[[Path, Callable[[Any], None]], None]
VALUE = "hunter2-s3cret"


def scene(root: Path, *, needed: bool = True, **environment: str) -> Scene:
    return Scene(
        root=root,
        home=root / "home",
        environment=environment,
        params={},
        cluster=load_cluster(root),
        tasks=project_tasks(root),
        for_cluster=needed,
    )


def look(probe: Probe, at: Scene) -> list[tuple[str, str]]:
    checks = list(probe(at))
    assert VALUE not in "".join(map(str, checks))
    assert all("\n" not in str(check) for check in checks)
    assert all(check.fix for check in checks if check.state != "ok")
    return [(check.state, check.what) for check in checks]


# the run store: credentials, region, endpoint


def test_half_a_key_pair_names_the_missing_half(toy: Path) -> None:
    found = look(store.credentials, scene(toy, AWS_ACCESS_KEY_ID=VALUE))
    assert found == [("fail", "AWS_ACCESS_KEY_ID is set, AWS_SECRET_ACCESS_KEY is not")]


@pytest.mark.parametrize(
    ("environment", "what"),
    [
        ({"AWS_ACCESS_KEY_ID": VALUE, "AWS_SECRET_ACCESS_KEY": VALUE}, "a key pair in the environment"),
        ({"AWS_WEB_IDENTITY_TOKEN_FILE": "/t", "AWS_ROLE_ARN": "arn"}, "a role by web identity"),
        ({"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://x"}, "a role of the container"),
    ],
)
def test_credentials_by_environment(toy: Path, environment: dict[str, str], what: str) -> None:
    assert look(store.credentials, scene(toy, **environment)) == [("ok", what)]


def test_credentials_by_profile_and_none(toy: Path) -> None:
    assert look(store.credentials, scene(toy))[0][0] == "fail"
    assert look(store.credentials, scene(toy, needed=False))[0][0] == "note"
    (toy / "home" / ".aws").mkdir(parents=True)
    (toy / "home" / ".aws" / "credentials").write_text(
        f"[work]\naws_access_key_id = {VALUE}\naws_secret_access_key = {VALUE}\n"
    )
    assert look(store.credentials, scene(toy))[0][0] == "fail"
    state, what = look(store.credentials, scene(toy, AWS_PROFILE="work"))[0]
    assert (state, what.startswith("profile work in ")) == ("ok", True)


def test_what_pods_get(toy: Path, edit: Edit) -> None:
    key = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    edit(toy / "params.yaml", lambda d: d["cluster"]["secrets"][0]["env"].pop("AWS_SECRET_ACCESS_KEY"))
    found = look(store.credentials, scene(toy, **key))
    assert found[1] == ("fail", "pods get AWS_ACCESS_KEY_ID from secret store, but no AWS_SECRET_ACCESS_KEY")
    edit(
        toy / "params.yaml",
        lambda d: d["cluster"].update(secrets=[], environment={"AWS_ENDPOINT_URL": "http://minio:9000"}),
    )
    assert look(store.credentials, scene(toy, **key))[1] == ("fail", "pods get an endpoint but no AWS_ACCESS_KEY_ID")
    found = look(store.region, scene(toy, AWS_REGION="x"))
    assert found[1] == ("fail", "pods get an endpoint, but no AWS_REGION: params.yaml, cluster.environment")


def test_an_endpoint_needs_a_region(toy: Path) -> None:
    at = scene(toy, needed=False, AWS_ENDPOINT_URL=f"http://user:{VALUE}@127.0.0.1:1")
    assert look(store.region, at) == [("fail", "AWS_ENDPOINT_URL is set, AWS_REGION is not")]
    assert look(store.region, scene(toy, needed=False)) == [("note", "no AWS_REGION")]
    (toy / "home" / ".aws").mkdir(parents=True)
    (toy / "home" / ".aws" / "config").write_text("[default]\nregion = eu-west-1\n")
    assert look(store.region, at) == [("ok", "set for this shell")]


def test_champions_are_not_kept_in_a_pod(toy: Path) -> None:
    at = scene(toy)
    assert look(store.champions, at) == []
    for address, expected in (("s3://bucket/champions", []), ("models/registry", ["fail"])):
        changed = dataclasses.replace(at, params={"promote": {"registry": address}})
        assert [state for state, _ in look(store.champions, changed)] == expected


def test_endpoint_by_socket(toy: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        at = scene(toy, AWS_ENDPOINT_URL=f"http://user:{VALUE}@127.0.0.1:{port}")
        assert look(store.endpoint, at) == [("ok", f"127.0.0.1:{port} takes connections")]
    state, what = look(store.endpoint, at)[0]
    assert (state, what) == ("fail", f"127.0.0.1:{port} takes no connection: Connection refused")
    assert look(store.endpoint, scene(toy, AWS_ENDPOINT_URL=VALUE))[0] == ("fail", "AWS_ENDPOINT_URL is no address")


def test_a_store_in_a_folder_needs_no_s3(toy: Path, edit: Edit) -> None:
    edit(toy / "params.yaml", lambda d: d["cluster"].update(store=f"file://{toy}/store"))
    at = scene(toy)
    assert look(store.credentials, at) == look(store.region, at) == []
    assert look(store.endpoint, at) == [("ok", f"the store {toy}/store is a writable folder")]


# the machine


def test_versions_against_the_lock(toy: Path) -> None:
    assert look(machine.versions, scene(toy))[0][0] == "ok"
    lock = toy / "containers" / "runtime" / "requirements.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("msgspec==0.0.1 \\\n    --hash=sha256:00\nno-such-package==1.0 \\\n")
    found = look(machine.versions, scene(toy))
    assert found[0] == ("fail", "1 packages of containers/runtime/requirements.lock are absent: no-such-package")
    assert found[1][0] == "note"
    assert "msgspec" in found[1][1]
    assert "(lock: 0.0.1)" in found[1][1]


def test_settings(toy: Path, edit: Edit) -> None:
    assert look(machine.settings, scene(toy)) == [("ok", "3 stages, 2 pools")]
    edit(toy / "params.yaml", lambda d: d["cluster"]["images"].update(runtime="localhost/runtime:dev"))
    at = scene(toy)
    assert look(machine.settings, at)[1] == ("fail", "image localhost/runtime:dev is not pinned by digest")
    edit(toy / "params.yaml", lambda d: d["cluster"].update(stoer="x"))
    assert "unknown key `stoer`" in look(machine.settings, at)[0][1]


def test_disk_names_the_amount(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [state for state, _ in look(machine.disk, scene(toy))] in (["ok", "ok"], ["note", "note"])
    monkeypatch.setattr(machine, "NEEDED_GIB", 10**9)
    found = look(machine.disk, scene(toy, XDG_CACHE_HOME=str(toy / "cache")))
    assert [state for state, _ in found] == ["fail", "fail"]
    assert str(toy / "cache" / "faithline") in found[1][1]


@pytest.mark.parametrize(
    ("script", "state", "text"),
    [
        ("echo 'NVIDIA L4, 550.54, 23034 MiB'", "ok", "1 x NVIDIA L4, 550.54, 23034 MiB"),
        ("echo 'NVIDIA-SMI has failed' >&2; exit 9", "fail", "nvidia-smi fails: NVIDIA-SMI has failed"),
        ("exec sleep 60", "fail", "nvidia-smi hangs"),
    ],
)
def test_gpu_driver(toy: Path, monkeypatch: pytest.MonkeyPatch, script: str, state: str, text: str) -> None:
    program = toy / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setattr(machine, "BOUND_S", 0.5)
    assert look(machine.gpu, scene(toy))[0] == (state, text)
    program.unlink()
    assert look(machine.gpu, scene(toy)) == [("ok", "no NVIDIA driver: stages run on the CPU here")]


def test_models(toy: Path) -> None:
    at = replace(
        scene(toy, HF_HUB_OFFLINE="1"),
        params={"backbone": {"sources": [{"kind": "hub"}]}, "embedder": {"sources": [{"kind": "package"}]}},
    )
    found = look(machine.models, at)
    assert [state for state, _ in found] == ["fail", "note"]
    assert "forbids the hub" in found[0][1]
    for name in ("backbone", "embedder"):
        (toy / "models" / name).mkdir(parents=True)
        (toy / "models" / name / "record.json").write_text("{}")
    assert [state for state, _ in look(machine.models, at)] == ["ok", "ok"]


# the cluster


class Cluster(BaseHTTPRequestHandler):
    """Answers GET with the objects of the class; anything else is a 404 as Kubernetes words it."""

    objects: ClassVar[dict[str, Any]] = {}

    def do_GET(self) -> None:
        found = self.objects.get(self.path.split("?")[0])
        body = json.dumps(found if found is not None else {"kind": "Status", "code": 404}).encode()
        self.send_response(200 if found is not None else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[tuple[str, type[Cluster]]]:
    handler = type("Handler", (Cluster,), {"objects": {}})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{http.server_address[1]}", handler
        http.shutdown()


def kubeconfig(folder: Path, url: str) -> str:
    path = folder / "kubeconfig"
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "c", "cluster": {"server": url}}],
                "users": [{"name": "u", "user": {"token": VALUE}}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "x",
            }
        )
    )
    return str(path)


def secret(name: str, *keys: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": {key: base64.b64encode(VALUE.encode()).decode() for key in keys}}


def test_the_namespace_lacks_what_it_lacks(toy: Path, server: tuple[str, type[Cluster]]) -> None:
    url, handler = server
    home = "/api/v1/namespaces/team"
    at = scene(toy, KUBECONFIG=kubeconfig(toy, url))
    handler.objects = {
        f"{home}/secrets/store": secret("store", "id"),
        f"{home}/resourcequotas": {
            "items": [
                {
                    "metadata": {"name": "q"},
                    "status": {
                        "hard": {"requests.nvidia.com/gpu": "4", "limits.memory": "16Gi", "pods": "2"},
                        "used": {"requests.nvidia.com/gpu": "4", "limits.memory": "0", "pods": "1"},
                    },
                }
            ]
        },
    }
    probes = kubernetes.namespace_probes(at)
    found = {(check.state, check.what) for check in checkup(at, probes, bound_s=20)}
    assert found == {
        ("fail", "secret store in namespace team has no key key"),
        ("fail", "namespace team has no secret mlpipeline-minio-artifact"),
        ("fail", "namespace team has no config map kfp-launcher"),
        ("fail", "namespace team has no service account trainer"),
        ("fail", "stage train wants 24Gi of limits.memory, quota q allows 16Gi"),
        ("note", "stage train wants 1 of requests.nvidia.com/gpu, quota q has 4 of 4 in use"),
    }


def test_a_namespace_in_order(toy: Path, server: tuple[str, type[Cluster]]) -> None:
    url, handler = server
    home = "/api/v1/namespaces/team"
    handler.objects = {
        f"{home}/secrets/store": secret("store", "id", "key"),
        f"{home}/secrets/mlpipeline-minio-artifact": secret("m", "accesskey", "secretkey"),
        f"{home}/configmaps/kfp-launcher": {
            "metadata": {"name": "kfp-launcher"},
            "data": {"defaultPipelineRoot": "s3://x"},
        },
        f"{home}/serviceaccounts/trainer": {"metadata": {"name": "trainer"}},
        f"{home}/resourcequotas": {"items": []},
        "/apis/v2beta1/healthz": {"tag_name": "2.17.3", "multi_user": True},
    }
    at = scene(toy, KUBECONFIG=kubeconfig(toy, url), KF_PIPELINES_ENDPOINT=url)
    checks = checkup(at, [*kubernetes.namespace_probes(at), ("kubeflow", kubernetes.kubeflow)], bound_s=20)
    assert {check.state for check in checks} == {"ok"}
    assert VALUE not in "".join(map(str, checks))
    assert look(kubernetes.own_namespace, at) == []


def test_without_a_cluster_to_ask(toy: Path, server: tuple[str, type[Cluster]]) -> None:
    url, _ = server
    assert kubernetes.namespace_probes(scene(toy)) == []
    ((state, what),) = look(kubernetes.own_namespace, scene(toy))
    assert state == "note"
    assert "in namespace team Kubeflow needs secret mlpipeline-minio-artifact (keys accesskey, secretkey)" in what
    assert look(kubernetes.kubeflow, scene(toy)) == [("note", "KF_PIPELINES_ENDPOINT is not set")]
    assert look(kubernetes.kubeflow, scene(toy, KF_PIPELINES_ENDPOINT=url)) == [("fail", "127.0.0.1 answers 404")]
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    at = scene(toy, KF_PIPELINES_ENDPOINT=f"http://user:{VALUE}@127.0.0.1:{port}", KUBECONFIG=str(toy / "none"))
    assert look(kubernetes.kubeflow, at)[0][0] == "fail"
    (check,) = checkup(at, kubernetes.namespace_probes(at), bound_s=20)
    assert (check.state, check.what.startswith("KUBECONFIG cannot be used")) == ("fail", True)


# the checkup itself


def test_probes_are_bounded_and_may_break(toy: Path) -> None:
    def hangs(_: Scene) -> Iterator[Check]:
        threading.Event().wait(60)
        yield Check("a", "ok", "")

    def breaks(_: Scene) -> Iterator[Check]:
        raise RuntimeError(VALUE)
        yield

    def fine(_: Scene) -> Iterator[Check]:
        yield Check("c", "ok", "fine")

    begin = time.monotonic()
    found = checkup(scene(toy), [("a", hangs), ("b", breaks), ("c", fine)], bound_s=0.3)
    assert time.monotonic() - begin < 10
    assert [(check.name, check.state) for check in found] == [("a", "fail"), ("b", "fail"), ("c", "ok")]
    assert found[0].what == "no answer within 0.3 s"
    assert found[1].what == "could not be looked at: RuntimeError"

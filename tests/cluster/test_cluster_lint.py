from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faithline.cluster.lint import lint_documents, lint_file, read_documents
from faithline.cluster.settings import load_cluster
from faithline.pipeline.errors import ConfigError

DIGEST = "@sha256:" + "a" * 64
POD = f"""
apiVersion: v1
kind: Pod
metadata: {{name: train}}
spec:
  activeDeadlineSeconds: 3600
  restartPolicy: Never
  nodeSelector: {{pool: gpu-small}}
  tolerations:
  - {{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}}
  - {{key: team, value: ml, effect: NoExecute}}
  securityContext: {{runAsNonRoot: true}}
  containers:
  - name: base
    image: registry.example/gpu{DIGEST}
    resources: {{limits: {{memory: 64Gi, nvidia.com/gpu: 2}}}}
    securityContext: {{readOnlyRootFilesystem: true}}
    env:
    - {{name: AWS_SECRET_ACCESS_KEY, valueFrom: {{secretKeyRef: {{name: store, key: key}}}}}}
    - {{name: AWS_WEB_IDENTITY_TOKEN_FILE, value: /var/run/token}}
    - {{name: TOKENIZERS_PARALLELISM, value: "false"}}
    volumeMounts: [{{name: shm, mountPath: /dev/shm}}]
  volumes: [{{name: shm, emptyDir: {{medium: Memory, sizeLimit: 32Gi}}}}]
"""


@pytest.fixture
def pod() -> dict[str, Any]:
    return copy.deepcopy(read_documents(POD, "pod.yaml")[0])


def rules(document: dict[str, Any], toy: Path) -> list[str]:
    return [finding.rule for finding in lint_documents([document], load_cluster(toy).pools, "x")]


def test_a_sound_pod_has_no_finding(pod: dict[str, Any], toy: Path) -> None:
    assert rules(pod, toy) == []


def _xcom(pod: dict[str, Any]) -> None:
    pod["spec"]["containers"].append(
        {**pod["spec"]["containers"][0], "name": "airflow-xcom-sidecar", "resources": {"limits": {"memory": "10Mi"}}}
    )


@pytest.mark.parametrize(
    ("rule", "break_it", "message"),
    [
        ("shm", lambda p: p["spec"].pop("volumes"), "GPUs without sized shared memory"),
        ("shm", lambda p: p["spec"]["volumes"][0]["emptyDir"].update(sizeLimit="128Gi"), "128 GiB of shared memory"),
        ("shm", lambda p: p["spec"]["volumes"][0]["emptyDir"].pop("sizeLimit"), "GPUs without sized shared memory"),
        ("memory", lambda p: p["spec"]["containers"][0]["resources"]["limits"].pop("memory"), "no memory limit"),
        ("placement", lambda p: p["spec"].pop("nodeSelector"), "no node selector"),
        ("placement", lambda p: p["spec"].pop("tolerations"), "without a toleration"),
        ("placement", lambda p: p["spec"]["tolerations"].pop(), "without tolerating its taint team"),
        ("deadline", lambda p: p["spec"].pop("activeDeadlineSeconds"), "can outlive its task"),
        ("xcom", _xcom, "side-car"),
        ("image", lambda p: p["spec"]["containers"][0].update(image="repo/gpu:1.0"), "not pinned"),
        ("image", lambda p: p["spec"]["containers"][0].update(image="repo/gpu@sha256:abc"), "not pinned"),
        ("root", lambda p: p["spec"].pop("securityContext"), "may run as root"),
        ("root", lambda p: p["spec"]["containers"][0]["securityContext"].update(runAsUser=0), "may run as root"),
        ("root-fs", lambda p: p["spec"]["containers"][0].pop("securityContext"), "is writable"),
        (
            "secret",
            lambda p: p["spec"]["containers"][0]["env"].append({"name": "HF_TOKEN", "value": "abc"}),
            "the value of HF_TOKEN stands",
        ),
        (
            "secret",
            lambda p: p["spec"]["containers"][0]["env"].append({"name": "DB", "value": "pg://me:pw@host/x"}),
            "the value of DB stands",
        ),
        (
            "secret",
            lambda p: p["spec"]["containers"][0].update(args=["--key", "AKIAABCDEFGHIJKLMNOP"]),
            "looks like a key",
        ),
    ],
)
def test_each_rule(
    pod: dict[str, Any], toy: Path, rule: str, break_it: Callable[[dict[str, Any]], object], message: str
) -> None:
    break_it(pod)
    found = lint_documents([pod], load_cluster(toy).pools, "x")
    assert [finding.rule for finding in found] == [rule]
    assert message in str(found[0])
    assert "Pod train" in found[0].where
    assert "AKIAABCDEFGHIJKLMNOP" not in str(found[0])


def test_pods_without_gpus(pod: dict[str, Any], toy: Path) -> None:
    limits = pod["spec"]["containers"][0]["resources"]["limits"]
    del limits["nvidia.com/gpu"]
    pod["spec"].pop("volumes")
    pod["spec"]["nodeSelector"] = {"pool": "cpu"}
    pod["spec"]["tolerations"] = []
    assert rules(pod, toy) == []
    pod["spec"]["nodeSelector"] = {"pool": "gpu-small"}
    assert rules(pod, toy) == ["placement"]
    pod["spec"].pop("nodeSelector")
    assert rules(pod, toy) == []
    pod["spec"]["tolerations"] = [{"key": "nvidia.com/gpu"}]
    assert rules(pod, toy) == ["placement"]
    pod["spec"]["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}
    assert rules(pod, toy) == []


def test_templates_are_found_wherever_they_stand(pod: dict[str, Any], toy: Path) -> None:
    template = {"spec": pod["spec"]}
    del pod["spec"]["activeDeadlineSeconds"]
    job = {"kind": "Job", "metadata": {"name": "j"}, "spec": {"activeDeadlineSeconds": 60, "template": template}}
    assert rules(job, toy) == ["retries"]
    job["spec"]["backoffLimit"] = 0
    assert rules(job, toy) == []
    cron = {"kind": "CronJob", "metadata": {"name": "c"}, "spec": {"jobTemplate": {"spec": {"template": template}}}}
    assert rules(cron, toy) == ["deadline"]
    assert rules({"kind": "Deployment", "metadata": {"name": "d"}, "spec": {"template": template}}, toy) == []
    head, worker = copy.deepcopy(template), copy.deepcopy(template)
    worker["spec"]["containers"][0]["image"] = "ray:latest"
    ray = {
        "kind": "RayJob",
        "metadata": {"name": "r"},
        "spec": {
            "activeDeadlineSeconds": 60,
            "rayClusterSpec": {
                "headGroupSpec": {"template": head},
                "workerGroupSpecs": [{"groupName": "gpus", "template": worker}],
            },
        },
    }
    found = lint_documents([ray], {}, "x")
    assert [(finding.rule, finding.where) for finding in found] == [("image", "RayJob r gpus")]


def test_objects_without_pods(toy: Path) -> None:
    secret = {"kind": "Secret", "metadata": {"name": "s"}, "stringData": {"key": "hunter2"}}
    found = lint_documents([secret], {}, "x")
    assert [(f.rule, f.where) for f in found] == [("secret", "Secret s")]
    assert "hunter2" not in str(found[0])
    assert rules({"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}}, toy) == []
    assert rules({"kind": "ConfigMap", "metadata": {}, "data": {"a": "-----BEGIN RSA PRIVATE KEY-----"}}, toy) == [
        "secret"
    ]


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="file not found"):
        lint_file(tmp_path / "none.yaml", {})
    for text, message in (
        ("a: [", "not valid YAML"),
        ("- 1\n", "expected mappings"),
        ("kind: Pod\nspec: {containers: [1]}", "shape"),
    ):
        (tmp_path / "bad.yaml").write_text(text)
        with pytest.raises(ConfigError, match=message):
            lint_file(tmp_path / "bad.yaml", {})
    (tmp_path / "bad.yaml").write_text("---\n---\n")
    assert lint_file(tmp_path / "bad.yaml", {}) == []

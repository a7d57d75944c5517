"""Probes of the Kubeflow server and, where `KUBECONFIG` names a cluster, of the namespace: secrets, account, quota.

KFP looks for its own secret and configuration in the namespace of the pods; outside `kubeflow` somebody has to put them
there, and what lacks shows when the first artifact is saved (deployKF #115). Of secrets only the keys are read.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from faithline.cluster.doctor.checkup import Check, Probe, Scene
from faithline.cluster.quantities import number
from faithline.cluster.settings import Cluster
from faithline.cluster.tasks import Task

__all__ = ["kubeflow", "namespace_probes", "own_namespace"]

ANSWER_S = 1.5
KFP_SECRET = ("mlpipeline-minio-artifact", ("accesskey", "secretkey"))
KFP_CONFIG = ("kfp-launcher", ("defaultPipelineRoot",))
HOME = "kubeflow"


def kubeflow(scene: Scene) -> Iterator[Check]:
    """See whether the KFP server answers."""
    address = scene.environment.get("KF_PIPELINES_ENDPOINT", "")
    if not address:
        yield Check(
            "kubeflow",
            "note",
            "KF_PIPELINES_ENDPOINT is not set",
            "set it, or give --endpoint, for `faithline kfp submit`",
        )
        return
    if "://" not in address:
        address = f"https://{address}"
    shown = urlsplit(address).hostname
    if urlsplit(address).scheme not in {"http", "https"} or shown is None:
        yield Check("kubeflow", "fail", "KF_PIPELINES_ENDPOINT is no address", "set it to http://HOST:PORT")
        return
    try:
        with urllib.request.urlopen(f"{address.rstrip('/')}/apis/v2beta1/healthz", timeout=ANSWER_S) as response:  # noqa: S310 - http and https only
            health = json.load(response)
    except urllib.error.HTTPError as error:
        yield scene.lack("kubeflow", f"{shown} answers {error.code}", "log in, or set KF_PIPELINES_SA_TOKEN_PATH")
    except (OSError, ValueError) as error:
        why = getattr(error, "reason", None) or type(error).__name__
        yield scene.lack(
            "kubeflow", f"{shown} does not answer: {why}", "start the port-forward, or correct KF_PIPELINES_ENDPOINT"
        )
    else:
        yield Check("kubeflow", "ok", f"{shown} answers, version {health.get('tag_name', 'unknown')}")


def own_namespace(scene: Scene) -> Iterator[Check]:
    """Remind of what KFP needs in a namespace of one's own, where no cluster can be asked."""
    if scene.cluster is None or scene.cluster.namespace == HOME or scene.environment.get("KUBECONFIG"):
        return
    secret, config = KFP_SECRET, KFP_CONFIG
    yield Check(
        "namespace",
        "note",
        f"not looked at: in namespace {scene.cluster.namespace} Kubeflow needs secret {secret[0]} "
        f"(keys {', '.join(secret[1])}) and config map {config[0]} (key {config[1][0]})",
        "set KUBECONFIG to have it checked",
    )


def namespace_probes(scene: Scene) -> list[tuple[str, Probe]]:
    """Return the probes that ask the cluster; none without `KUBECONFIG`.

    The client is loaded here, outside the probes' time.
    """
    path = scene.environment.get("KUBECONFIG")
    if not path or scene.cluster is None:
        return []
    from kubernetes import client, config

    cluster = scene.cluster
    try:
        api = client.CoreV1Api(config.new_client_from_config(config_file=path))
    except Exception as error:  # noqa: BLE001 - the client raises what its YAML reader and certificates raise
        broken = Check(
            "cluster", "fail", f"KUBECONFIG cannot be used: {type(error).__name__}", "correct the file it names"
        )
        return [("cluster", lambda _: [broken])]
    return [
        ("secrets", lambda s: _secrets(s, api, cluster)),
        ("account", lambda s: _account(s, api, cluster)),
        ("quota", lambda s: _quota(s, api, cluster)),
    ]


def _secrets(scene: Scene, api: Any, cluster: Cluster) -> Iterator[Check]:
    wanted = [(secret.name, tuple(secret.env.values())) for secret in cluster.secrets]
    if cluster.namespace != HOME:
        wanted.append(KFP_SECRET)
    for name, keys in wanted:
        found = _read(
            scene, "secrets", lambda n=name: api.read_namespaced_secret(n, cluster.namespace, _request_timeout=ANSWER_S)
        )
        yield from _keys(scene, f"secret {name}", keys, found, cluster.namespace)
    if cluster.namespace != HOME:
        name, keys = KFP_CONFIG
        found = _read(
            scene, "secrets", lambda: api.read_namespaced_config_map(name, cluster.namespace, _request_timeout=ANSWER_S)
        )
        yield from _keys(scene, f"config map {name}", keys, found, cluster.namespace)


def _keys(scene: Scene, thing: str, keys: tuple[str, ...], found: Any, namespace: str) -> Iterator[Check]:
    if isinstance(found, Check):
        yield found
        return
    if found is None:
        yield scene.lack("secrets", f"namespace {namespace} has no {thing}", f"create it with {', '.join(keys)}")
        return
    missing = [key for key in keys if key not in (found.data or {})]
    if missing:
        yield scene.lack("secrets", f"{thing} in namespace {namespace} has no key {missing[0]}", "add it there")
    else:
        yield Check("secrets", "ok", f"{thing} has {', '.join(keys)}")


def _account(scene: Scene, api: Any, cluster: Cluster) -> Iterator[Check]:
    name = cluster.service_account
    found = _read(
        scene,
        "account",
        lambda: api.read_namespaced_service_account(name, cluster.namespace, _request_timeout=ANSWER_S),
    )
    if isinstance(found, Check):
        yield found
    elif found is None:
        fix = "kubectl apply -k deploy/kustomize/..., or correct cluster.service_account"
        yield scene.lack("account", f"namespace {cluster.namespace} has no service account {name}", fix)
    else:
        yield Check("account", "ok", f"service account {name} is there")


def _quota(scene: Scene, api: Any, cluster: Cluster) -> Iterator[Check]:
    found = _read(
        scene, "quota", lambda: api.list_namespaced_resource_quota(cluster.namespace, _request_timeout=ANSWER_S)
    )
    if isinstance(found, Check):
        yield found
        return
    tight = [check for quota in found.items for check in _tight(scene, quota)]
    yield from tight or [
        Check("quota", "ok", f"{len(found.items)} quotas in namespace {cluster.namespace}, none too tight")
    ]


def _tight(scene: Scene, quota: Any) -> Iterator[Check]:
    hard, used = quota.status.hard or {}, quota.status.used or {}
    for resource, limit in hard.items():
        for task in scene.tasks:
            wanted = _demand(task, resource)
            shown = f"{wanted / 2**30:g}Gi" if resource.endswith("memory") else f"{wanted:g}"
            where = f"stage {task.stage} wants {shown} of {resource}, quota {quota.metadata.name}"
            if wanted > number(limit):
                yield scene.lack("quota", f"{where} allows {limit}", "raise the quota or lower the stage's meta")
            elif wanted > number(limit) - number(used.get(resource, 0)):
                yield Check(
                    "quota", "note", f"{where} has {used.get(resource)} of {limit} in use", "the stage will wait"
                )


def _demand(task: Task, resource: str) -> float:
    """What a task counts in a quota for a resource."""
    name = resource.removeprefix("requests.").removeprefix("limits.")
    amounts = {"cpu": task.cpu, "memory": task.memory_gib * 2.0**30, "pods": 1.0}
    if task.gpus:
        amounts[task.gpu_resource] = float(task.gpus)
    return task.nodes * amounts.get(name, 0.0)


def _read(scene: Scene, name: str, call: Any) -> Any:
    """Ask the cluster: the object, None if there is none, a check if the question itself failed."""
    from kubernetes.client import ApiException

    try:
        return call()
    except ApiException as error:
        if error.status == 404:
            return None
        return scene.lack(name, f"the cluster answers {error.status}", "log in, or ask for the right to look")
    except Exception as error:  # noqa: BLE001 - urllib3's and the credential plugins' failures
        return scene.lack(
            name, f"the cluster does not answer: {type(error).__name__}", "check KUBECONFIG and the network"
        )

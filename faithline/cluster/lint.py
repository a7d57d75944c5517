"""Rules for rendered manifests, whatever rendered them: each finding names the stage or object and the way to mend it.

Every rule stands for a public fault that shows late and looks like something else: a GPU pod pending for ever, a bus
error in a data loader, a pod that outlives its task, a secret in a manifest. KFP's compiled form cannot say "read-only
root", so that rule is for Kubernetes objects alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faithline.cluster.pods import Container, PodView, pods
from faithline.cluster.settings import Pool
from faithline.cluster.tasks import Toleration
from faithline.pipeline.errors import ConfigError

__all__ = ["Finding", "lint_documents", "lint_file", "read_documents"]

SECRET_NAME = re.compile(
    r"(^|_)(SECRET|TOKEN|PASSWORD|PASSWD|CREDENTIALS?|API_?KEY|ACCESS_?KEY(_ID)?|PRIVATE_?KEY|AUTHORIZATION)(_|$)",
    re.IGNORECASE,
)
POINTER_NAME = re.compile(r"_(FILE|PATH|DIR|NAME|URL|URI)$", re.IGNORECASE)
"""Variables that say where a secret is."""
SECRET_TEXT = re.compile(
    r"\bA(KIA|SIA)[0-9A-Z]{16}\b|-----BEGIN [A-Z ]*PRIVATE KEY-----|\bhf_[A-Za-z0-9]{30,}|\bgh[pousr]_[A-Za-z0-9]{36,}"
    r"|://[^/\s:@]+:[^/\s:@]+@"
)
DIGEST = re.compile(r"@sha256:[0-9a-f]{64}$")


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a manifest."""

    where: str
    """Stage, or kind and name of the object."""
    rule: str
    what: str
    fix: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.fix} [{self.rule}]"


def read_documents(text: str, where: str) -> list[dict[str, Any]]:
    """Read a file of YAML documents.

    Raises:
        ConfigError: If it is not YAML, or a document is no mapping.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        # The fast reader: a compiled pipeline of 20 stages takes the other one seconds.
        documents = [document for document in YAML(typ="safe").load_all(text) if document is not None]
    except YAMLError as error:
        raise ConfigError(f"not valid YAML: {str(error).splitlines()[0]}", where=where) from None
    if not all(isinstance(document, dict) for document in documents):
        raise ConfigError("expected mappings, one per document", where=where)
    return documents


def lint_file(path: Path, pools: Mapping[str, Pool]) -> list[Finding]:
    """Check the manifests of a file.

    Raises:
        ConfigError: If it cannot be read as manifests.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError("file not found", where=str(path), next_step="name rendered manifests, or none") from None
    return lint_documents(read_documents(text, str(path)), pools, str(path))


def lint_documents(documents: Sequence[Mapping[str, Any]], pools: Mapping[str, Pool], where: str) -> list[Finding]:
    """Check manifests.

    Args:
        documents: The documents of one file; a compiled pipeline's two belong together.
        pools: The pools known by name; a selector that picks one of them must come with its tolerations.
        where: The file, for messages.

    Raises:
        ConfigError: If a document has not the shape of its kind.
    """
    try:
        found = [finding for pod in pods(documents) for finding in _pod(pod, pools)]
        for document in documents:
            found += _objects(document)
            if "root" in document and "deploymentSpec" in document:
                found += _retries(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ConfigError(
            f"a document has not the shape of its kind: {type(error).__name__} {error}", where=where
        ) from None
    return sorted(found, key=lambda finding: (finding.where, finding.rule))


def _pod(pod: PodView, pools: Mapping[str, Pool]) -> Iterator[Finding]:
    yield from _placement(pod, pools)
    yield from _memory(pod)
    if pod.deadline_s is None and not pod.stays:
        yield Finding(pod.name, "deadline", "no activeDeadlineSeconds: the pod can outlive its task", "set one")
    for container in pod.containers:
        name = pod.name if len(pod.containers) == 1 else f"{pod.name}, container {container.name}"
        yield from _container(name, container)


def _placement(pod: PodView, pools: Mapping[str, Pool]) -> Iterator[Finding]:
    bound = bool(pod.selector) or pod.has_affinity
    if pod.gpus and not bound:
        yield Finding(
            pod.name, "placement", "GPUs and a toleration at most, but no node selector", "select the pool's label"
        )
    if pod.gpus and not pod.tolerations:
        yield Finding(
            pod.name, "placement", "GPUs without a toleration: GPU nodes are tainted", "tolerate the pool's taints"
        )
    if pod.tolerations and not bound and not pod.gpus:
        yield Finding(
            pod.name, "placement", "a toleration without a node selector binds nothing", "select the pool's label"
        )
    for name, pool in pools.items():
        chosen = bool(pool.labels) and pool.labels.items() <= pod.selector.items()
        missing = [
            t.key for t in pool.taints if not any(_tolerates(own, t.key, t.value, t.effect) for own in pod.tolerations)
        ]
        if chosen and missing and (pod.tolerations or not pod.gpus):
            yield Finding(
                pod.name, "placement", f"selects pool {name} without tolerating its taint {missing[0]}", "tolerate it"
            )


def _tolerates(own: Toleration, key: str, value: str, effect: str) -> bool:
    return own.key in {"", key} and own.value in {"", value} and own.effect in {"", effect}


def _memory(pod: PodView) -> Iterator[Finding]:
    memory = pod.memory_gib
    if memory is None:
        yield Finding(pod.name, "memory", "no memory limit: one pod can take a node down", "set limits.memory")
    if pod.gpus and pod.shm_gib is None:
        yield Finding(
            pod.name, "shm", "GPUs without sized shared memory at /dev/shm", "mount an emptyDir of medium Memory there"
        )
    if memory is not None and pod.shm_gib is not None and pod.shm_gib > memory:
        yield Finding(
            pod.name,
            "shm",
            f"{pod.shm_gib:g} GiB of shared memory count towards the memory limit of {memory:g} GiB",
            "raise the limit or shrink /dev/shm",
        )


def _container(name: str, container: Container) -> Iterator[Finding]:
    if container.name == "airflow-xcom-sidecar":
        yield Finding(name, "xcom", "XCom is on: its side-car can hang a finished pod", "set do_xcom_push=False")
        return
    if not DIGEST.search(container.image):
        yield Finding(name, "image", f"image {container.image or '(none)'} is not pinned", "name it by @sha256: digest")
    if not container.non_root:
        yield Finding(name, "root", "may run as root", "set runAsNonRoot: true or a runAsUser above 0")
    if container.read_only_root is False:
        yield Finding(name, "root-fs", "the root file system is writable", "set readOnlyRootFilesystem: true")
    for variable, value in container.environment.items():
        named = SECRET_NAME.search(variable) and not POINTER_NAME.search(variable)
        if value and (named or SECRET_TEXT.search(value)):
            yield Finding(
                name, "secret", f"the value of {variable} stands in the manifest", "take it from a secret by name"
            )


def _objects(document: Mapping[str, Any]) -> Iterator[Finding]:
    kind, metadata = str(document.get("kind", "")), document.get("metadata") or {}
    name = f"{kind} {metadata.get('name', '(no name)')}" if kind else "pipeline"
    if kind == "Secret" and (document.get("data") or document.get("stringData")):
        yield Finding(name, "secret", "secret values stand in the manifest", "create it outside, refer to it by name")
    elif any(SECRET_TEXT.search(text) for text in _texts(document, inside_env=False)):
        yield Finding(name, "secret", "a text looks like a key or a password", "take it from a secret by name")
    job = (document.get("spec") or {}) if kind == "Job" else {}
    if kind == "Job" and job.get("backoffLimit") is None:
        yield Finding(name, "retries", "no backoffLimit: Kubernetes tries six times more", "set it")


def _texts(node: object, *, inside_env: bool) -> Iterator[str]:
    """Yield the texts of a document; those of `env` have a rule of their own."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            yield from _texts(value, inside_env=inside_env or key == "env")
    elif isinstance(node, list):
        for value in node:
            yield from _texts(value, inside_env=inside_env)
    elif isinstance(node, str) and not inside_env:
        yield node


def _retries(spec: Mapping[str, Any]) -> Iterator[Finding]:
    components = {"(root)": spec["root"], **spec.get("components", {})}
    looped: set[str] = set()
    for component in components.values():
        for task in component.get("dag", {}).get("tasks", {}).values():
            if "parameterIterator" in task or "artifactIterator" in task:
                looped.add(task["componentRef"]["name"])
    for component_name, component in components.items():
        for task in component.get("dag", {}).get("tasks", {}).values():
            name = str(task.get("taskInfo", {}).get("name", component_name))
            yield from _task(name, task, in_loop=component_name in looped)


def _task(name: str, task: Mapping[str, Any], *, in_loop: bool) -> Iterator[Finding]:
    retry = task.get("retryPolicy", {})
    if int(retry.get("maxRetryCount", 0)) > 0:
        if float(str(retry.get("backoffDuration", "0s")).removesuffix("s")) <= 0:
            yield Finding(name, "retries", "retries without a pause", "set a back-off above 0 seconds")
        if in_loop:
            yield Finding(name, "retries", "retries inside a loop are ignored by Kubeflow", "unroll the loop")
    if task.get("cachingOptions", {}).get("enableCache"):
        yield Finding(
            name,
            "cache",
            "Kubeflow's cache is on: a hit can lack its data",
            "switch it off; DVC's run cache is the cache",
        )

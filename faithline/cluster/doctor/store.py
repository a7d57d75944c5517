"""Probes of the run store: credentials, region and endpoint, for this shell and for the pods.

S3 settings that are half there are the worst: an endpoint without a region, or a key without its other half, fails
when a stage has run and wants to save its outputs (kubeflow/pipelines #11310). Only names are looked at, never values.
"""

from __future__ import annotations

import configparser
import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from faithline.cluster.doctor.checkup import Check, Scene

__all__ = ["champions", "credentials", "endpoint", "region"]

CONNECT_S = 1.5
PAIR = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
ENDPOINTS = ("FAITHLINE_S3_ENDPOINT", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
POD_ENVIRONMENT = "params.yaml, cluster.environment"


def credentials(scene: Scene) -> Iterator[Check]:
    """Look for credentials of the store."""
    if not _on_s3(scene):
        return
    yield _shell_credentials(scene)
    yield from _pod_credentials(scene)


def champions(scene: Scene) -> Iterator[Check]:
    """Look at where champions are kept: a folder inside a pod goes with the pod."""
    section = scene.params.get("promote")
    address = section.get("registry") if isinstance(section, Mapping) else None
    if isinstance(address, str) and "://" not in address:
        yield scene.lack(
            "champions",
            f"promote.registry is the folder {address}: it would lie in a pod",
            "set promote.registry in params.yaml to s3://BUCKET/PREFIX",
        )


def _shell_credentials(scene: Scene) -> Check:
    there = [name for name in PAIR if scene.environment.get(name)]
    if len(there) == 1:
        missing = next(name for name in PAIR if name not in there)
        return Check("credentials", "fail", f"{there[0]} is set, {missing} is not", f"export {missing} as well")
    if there:
        return Check("credentials", "ok", "a key pair in the environment")
    if scene.environment.get("AWS_WEB_IDENTITY_TOKEN_FILE") and scene.environment.get("AWS_ROLE_ARN"):
        return Check("credentials", "ok", "a role by web identity")
    if scene.environment.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") or scene.environment.get(
        "AWS_CONTAINER_CREDENTIALS_FULL_URI"
    ):
        return Check("credentials", "ok", "a role of the container")
    for path in (
        _aws_file(scene, "AWS_SHARED_CREDENTIALS_FILE", "credentials"),
        _aws_file(scene, "AWS_CONFIG_FILE", "config"),
    ):
        profile = _profile(scene, path)
        if any(
            key in profile
            for key in ("aws_access_key_id", "role_arn", "sso_session", "sso_start_url", "credential_process")
        ):
            return Check("credentials", "ok", f"profile {_profile_name(scene)} in {path}")
    return scene.lack(
        "credentials",
        "none for the store: no AWS_ACCESS_KEY_ID, no role, no profile",
        "export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
    )


def _pod_credentials(scene: Scene) -> Iterator[Check]:
    if scene.cluster is None:
        return
    given = {name: secret.name for secret in scene.cluster.secrets for name in secret.env}
    half = [name for name in PAIR if name in given]
    if len(half) == 1:
        missing = next(name for name in PAIR if name not in half)
        yield Check(
            "credentials",
            "fail",
            f"pods get {half[0]} from secret {given[half[0]]}, but no {missing}",
            f"add {missing} in params.yaml, cluster.secrets",
        )
    elif not half and any(name in scene.cluster.environment for name in ENDPOINTS):
        yield scene.lack(
            "credentials",
            f"pods get an endpoint but no {PAIR[0]}",
            f"name a secret of namespace {scene.cluster.namespace} in params.yaml, cluster.secrets, or give "
            f"service account {scene.cluster.service_account} a role",
        )


def region(scene: Scene) -> Iterator[Check]:
    """Look for the region: an endpoint of its own needs one too, for requests are signed with it."""
    if not _on_s3(scene):
        return
    own = next((name for name in ENDPOINTS if scene.environment.get(name)), None)
    found = any(scene.environment.get(name) for name in REGIONS) or "region" in _profile(
        scene, _aws_file(scene, "AWS_CONFIG_FILE", "config")
    )
    if found:
        yield Check("region", "ok", "set for this shell")
    elif own:
        yield Check(
            "region",
            "fail",
            f"{own} is set, AWS_REGION is not",
            "export AWS_REGION (any name the server takes, often us-east-1)",
        )
    else:
        yield scene.lack("region", "no AWS_REGION", "export AWS_REGION, or set region in ~/.aws/config")
    pods = scene.cluster.environment if scene.cluster else {}
    if any(name in pods for name in ENDPOINTS) and not any(name in pods for name in REGIONS):
        yield Check(
            "region",
            "fail",
            f"pods get an endpoint, but no AWS_REGION: {POD_ENVIRONMENT}",
            f"add AWS_REGION to {POD_ENVIRONMENT}",
        )


def endpoint(scene: Scene) -> Iterator[Check]:
    """See whether the store's server takes connections, or its folder is writable."""
    store = scene.cluster.store if scene.cluster else ""
    if store.startswith("file://"):
        folder = Path(unquote(urlsplit(store).path))
        there = next(parent for parent in (folder, *folder.parents) if parent.exists())
        if os.access(there, os.W_OK):
            yield Check("endpoint", "ok", f"the store {folder} is a writable folder")
        else:
            yield scene.lack("endpoint", f"the store {folder} is not writable", "change its rights or cluster.store")
        return
    name = next((name for name in ENDPOINTS if scene.environment.get(name)), None)
    if name is None:
        return
    parts = urlsplit(scene.environment[name])
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        yield Check("endpoint", "fail", f"{name} is no address", f"set {name} to http://HOST:PORT or https://HOST")
        return
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname, port), timeout=CONNECT_S).close()
    except OSError as error:
        why = error.strerror or type(error).__name__
        yield scene.lack(
            "endpoint", f"{parts.hostname}:{port} takes no connection: {why}", f"start the server, or correct {name}"
        )
    else:
        yield Check("endpoint", "ok", f"{parts.hostname}:{port} takes connections")


def _on_s3(scene: Scene) -> bool:
    return scene.cluster is not None and scene.cluster.store.startswith("s3://")


def _aws_file(scene: Scene, variable: str, name: str) -> Path:
    return Path(scene.environment.get(variable) or scene.home / ".aws" / name)


def _profile_name(scene: Scene) -> str:
    return scene.environment.get("AWS_PROFILE") or "default"


def _profile(scene: Scene, path: Path) -> Mapping[str, str]:
    """Return the keys of the profile in one of AWS's files; empty if there is none."""
    parser = configparser.RawConfigParser()
    try:
        parser.read(path, encoding="utf-8")
    except (configparser.Error, OSError, UnicodeDecodeError):
        return {}
    for section in (_profile_name(scene), f"profile {_profile_name(scene)}"):
        if parser.has_section(section):
            return parser[section]
    return {}

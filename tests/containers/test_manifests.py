"""The Kustomize overlays, rendered by kubectl: valid for the API server, and in agreement with params.yaml."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from faithline.cluster.quantities import number
from faithline.cluster.settings import load_cluster

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy" / "kustomize"
OVERLAYS = ("dev", "prod")
CLUSTER_WIDE = {"Namespace", "ClusterQueue", "ResourceFlavor"}
# Field names, types and enumerations of the published definitions (kueue.x-k8s.io v1beta2, external-secrets.io v1);
# strict, as the API server is with field validation.
CRDS = json.loads(Path(__file__).with_name("crds.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module", params=OVERLAYS)
def overlay(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def rendered(overlay: str, program: Callable[[str], str]) -> list[dict[str, Any]]:
    done = subprocess.run(
        [program("kubectl"), "kustomize", str(DEPLOY / "overlays" / overlay)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "deprecated" not in done.stderr
    return list(yaml.safe_load_all(done.stdout))


def key(manifest: Mapping[str, Any]) -> str:
    return f"{manifest['apiVersion']}/{manifest['kind']}"


def find(manifests: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    (found,) = [m for m in manifests if m["kind"] == kind and m["metadata"]["name"] == name]
    return found


@pytest.mark.parametrize("version", ["1.32.0", "1.37.0"])
def test_core_kinds_are_valid(
    rendered: list[dict[str, Any]], version: str, tmp_path: Path, program: Callable[[str], str]
) -> None:
    core = [manifest for manifest in rendered if key(manifest) not in CRDS]
    assert len(core) >= 15
    file = tmp_path / "core.yaml"
    file.write_text(yaml.safe_dump_all(core), encoding="utf-8")
    done = subprocess.run(
        [program("kubernetes-validate"), "-k", version, "--strict", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (done.stdout + done.stderr).count(" passed ") == len(core)


def test_custom_kinds_are_valid(rendered: list[dict[str, Any]]) -> None:
    custom = [manifest for manifest in rendered if key(manifest) in CRDS]
    assert {m["kind"] for m in custom} >= {"ResourceFlavor", "ClusterQueue", "LocalQueue"}
    for manifest in custom:
        jsonschema.Draft202012Validator(CRDS[key(manifest)]).validate(manifest)


def test_a_misspelt_field_is_refused(rendered: list[dict[str, Any]]) -> None:
    queue = json.loads(json.dumps(find(rendered, "ClusterQueue", "faithline")))
    queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuotas"] = "1"
    with pytest.raises(jsonschema.ValidationError, match="nominalQuotas"):
        jsonschema.Draft202012Validator(CRDS[key(queue)]).validate(queue)


def test_names_agree_with_params(rendered: list[dict[str, Any]]) -> None:
    cluster = load_cluster(ROOT)
    namespaced = [m for m in rendered if m["kind"] not in CLUSTER_WIDE]
    assert {m["metadata"].get("namespace") for m in namespaced} == {cluster.namespace}
    assert not any("namespace" in m["metadata"] for m in rendered if m["kind"] in CLUSTER_WIDE)
    find(rendered, "ServiceAccount", cluster.service_account)
    find(rendered, "LocalQueue", cluster.queue or "faithline")


def test_the_volume_of_models_is_that_of_params(rendered: list[dict[str, Any]]) -> None:
    (claim,) = [m["metadata"]["name"] for m in rendered if m["kind"] == "PersistentVolumeClaim"]
    assert load_cluster(ROOT).cache_claim in {None, claim}


def test_pools_are_those_of_params(rendered: list[dict[str, Any]]) -> None:
    pools = load_cluster(ROOT).pools
    flavors = {m["metadata"]["name"]: m["spec"] for m in rendered if m["kind"] == "ResourceFlavor"}
    assert set(flavors) == set(pools)
    for name, pool in pools.items():
        assert flavors[name]["nodeLabels"] == pool.labels
        taints = [(t["key"], t.get("value", ""), t["effect"]) for t in flavors[name].get("nodeTaints", [])]
        assert taints == [(t.key, t.value, t.effect) for t in pool.taints]


def test_quotas_are_whole_nodes(rendered: list[dict[str, Any]]) -> None:
    pools = load_cluster(ROOT).pools
    (group,) = find(rendered, "ClusterQueue", "faithline")["spec"]["resourceGroups"]
    total = dict.fromkeys(group["coveredResources"], 0.0)
    for flavor in group["flavors"]:
        pool = pools[flavor["name"]]
        quota = {entry["name"]: number(entry["nominalQuota"]) for entry in flavor["resources"]}
        assert list(quota) == group["coveredResources"]
        nodes = quota["cpu"] / pool.cpu
        assert nodes == int(nodes)
        assert quota["memory"] == nodes * pool.memory_gib * 2**30
        assert quota["nvidia.com/gpu"] == nodes * (pool.gpu.per_node if pool.gpu else 0)
        total = {name: total[name] + value for name, value in quota.items()}
    hard = find(rendered, "ResourceQuota", "faithline")["spec"]["hard"]
    for name, value in total.items():
        assert number(hard[f"requests.{name}"]) >= value


def test_no_secret_value_is_held(rendered: list[dict[str, Any]]) -> None:
    assert not [m["metadata"]["name"] for m in rendered if m["kind"] == "Secret"]
    text = json.dumps(rendered)
    assert not re.search(r"AKIA[0-9A-Z]{16}|-----BEGIN|hf_[A-Za-z0-9]{20}|\"password\"", text)


def test_production_accounts_have_roles_and_development_has_none(rendered: list[dict[str, Any]], overlay: str) -> None:
    for name in ("faithline-run", "faithline-airflow"):
        annotations = find(rendered, "ServiceAccount", name)["metadata"]["annotations"]
        role = annotations.get("eks.amazonaws.com/role-arn")
        assert role == (f"arn:aws:iam::111122223333:role/{name}" if overlay == "prod" else None)


def test_traffic_is_denied_unless_allowed(rendered: list[dict[str, Any]]) -> None:
    policies = {m["metadata"]["name"]: m["spec"] for m in rendered if m["kind"] == "NetworkPolicy"}
    assert policies["default-deny"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    for spec in policies.values():
        for rule in [*spec.get("egress", []), *spec.get("ingress", [])]:
            assert rule.get("to") or rule.get("from"), "a rule without peers allows everyone"
            assert rule.get("ports") or all(set(peer) == {"podSelector"} for peer in rule.get("to", rule.get("from")))
    (https,) = policies["allow-https"]["egress"]
    assert "169.254.0.0/16" in https["to"][0]["ipBlock"]["except"]


def test_roles_grant_no_wildcard(rendered: list[dict[str, Any]]) -> None:
    for role in (m for m in rendered if m["kind"] == "Role"):
        for rule in role["rules"]:
            assert "*" not in {*rule["apiGroups"], *rule["resources"], *rule["verbs"]}
            assert "secrets" not in rule["resources"] or rule["resourceNames"]

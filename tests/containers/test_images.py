"""The images of this checkout, built and run for real: offline, read-only, without root and without capabilities."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from faithline import __version__

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow
WORLDS = ("runtime", "airflow")
PROJECT = {
    ".dvc",
    ".dvcignore",
    "components",
    "conf",
    "containers",
    "dags",
    "data_snapshot.json",
    "dvc.yaml",
    "faithline",
    "params.yaml",
}


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def image(request: pytest.FixtureRequest, world: str) -> str:
    return str(request.getfixturevalue(f"{world}_image"))


@pytest.fixture
def config(engine: Any, image: str) -> dict[str, Any]:
    found = json.loads(engine.succeed("podman", "image", "inspect", image))[0]
    found["Config"]["Bytes"] = found["Size"]
    return dict(found["Config"])


def locked(world: str) -> dict[str, str]:
    text = (ROOT / "containers" / world / "requirements.lock").read_text(encoding="utf-8")
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", text, re.MULTILINE))


def test_the_command_runs(make_box: Callable[[str], Any], world: str, image: str) -> None:
    box = make_box(image)
    name = [] if world == "runtime" else ["faithline"]  # the entrypoint, where there is one
    version = box.run(*name, "--version")
    assert (version.stdout, version.returncode) == (f"faithline {__version__}\n", 0), version.stderr
    check = box.run(*name, "params", "check")
    assert check.returncode == 0, check.stderr
    assert "are valid" in check.stdout


def test_nothing_but_the_mounts_can_be_written(make_box: Callable[[str], Any], image: str) -> None:
    script = (
        "id -u; for place in / /opt /opt/venv /opt/faithline /etc /usr/share; do touch $place/x && echo $place; done"
    )
    done = make_box(image).run("-c", script, entrypoint="sh")
    assert done.stdout == "10001\n"


def test_the_image_holds_the_project_and_no_more(make_box: Callable[[str], Any], image: str) -> None:
    done = make_box(image).run("-c", "ls -A /opt/faithline /opt /root /home /build /mnt", entrypoint="sh")
    listed = {name for name in done.stdout.split() if not name.endswith(":")}
    assert listed - {"sources.lock.json"} == PROJECT | {"faithline", "venv"}


def test_labels_and_environment(config: dict[str, Any], world: str) -> None:
    labels = {key.removeprefix("org.opencontainers.image."): value for key, value in config["Labels"].items()}
    assert labels["title"] == f"faithline-{world}"
    assert (labels["version"], labels["licenses"]) == (__version__, "Apache-2.0")
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?|unknown", labels["revision"])
    assert labels["base.name"].startswith("localhost/")
    # What the build needed of this machine is not in the image.
    assert not {entry.partition("=")[0] for entry in config["Env"]} & {"PIP_CERT", "SSL_CERT_FILE", "TORCH"}
    assert config["User"] == "10001:10001"
    assert 100e6 < config["Bytes"] < 4e9
    print(f"faithline-{world}: {config['Bytes'] / 1e9:.2f} GB")


def test_bill_of_materials_lists_what_the_lock_says(make_box: Callable[[str], Any], world: str, image: str) -> None:
    done = make_box(image).run(f"/usr/share/sbom/faithline-{world}.cdx.json", entrypoint="cat")
    bill = json.loads(done.stdout)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    kinds: dict[str, dict[str, str]] = {"pypi": {}, "deb": {}}
    for component in bill["components"]:
        kinds[component["purl"].split(":")[1].split("/")[0]][component["name"]] = component["version"]
    expected = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in locked(world).items()}
    if world == "runtime":
        expected["torch"] += "+cpu"
    assert kinds["pypi"] == expected
    assert {"libc6", "python3.11-minimal", "ca-certificates"} <= set(kinds["deb"])


def test_a_stage_gives_the_same_bytes_as_outside(
    make_box: Callable[[str], Any], runtime_image: str, make_project: Any, run_component: Any
) -> None:
    box = make_box(runtime_image)
    applied = box.run("params", "apply", "conf/tiny.yaml")
    assert applied.returncode == 0, applied.stderr
    done = box.run("repro", "generate_sample", entrypoint="dvc")
    assert done.returncode == 0, done.stdout + done.stderr
    outside = make_project()
    assert run_component(outside, "generate_sample").returncode == 0

    def contents(root: Path) -> dict[str, bytes]:
        folder = root / "data/raw/sample"
        return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}

    inside = contents(box.workspace)
    assert inside
    assert inside == contents(outside)
    assert (box.workspace / "data/raw/sample/record.json").stat().st_uid == 10001
    assert not list(box.workspace.rglob("__pycache__"))
    again = box.run("status", "generate_sample", entrypoint="dvc")
    assert "up to date" in again.stdout + again.stderr


def test_a_mounted_project_is_left_alone(make_box: Callable[[str], Any], runtime_image: str) -> None:
    box = make_box(runtime_image)
    box.run("--version")
    (box.workspace / "params.yaml").write_text("answer: {}\n", encoding="utf-8")
    wrong = box.run("params", "check")
    assert wrong.returncode == 40
    assert (box.workspace / "params.yaml").read_text(encoding="utf-8") == "answer: {}\n"


def test_a_workspace_that_cannot_be_written_is_said(engine: Any, runtime_image: str) -> None:
    done = engine.run("podman", "run", "--rm", "--network=none", "--read-only", runtime_image, "--version")
    assert (done.returncode, done.stdout) == (40, "")
    assert done.stderr.startswith("error: /workspace cannot be written by user 10001\n  next: ")


def test_airflow_loads_the_dags(make_box: Callable[[str], Any], airflow_image: str) -> None:
    program = (
        "import json\nfrom airflow.dag_processing.dagbag import DagBag\n"
        "bag = DagBag()\nprint(json.dumps([sorted(bag.dag_ids), bag.import_errors]))"
    )
    done = make_box(airflow_image).run("python", "-c", program)
    assert done.returncode == 0, done.stderr[-2000:]
    dags, errors = json.loads(done.stdout.splitlines()[-1])
    assert "retrain" in dags
    assert errors == {}


def test_this_environment_and_the_image_agree(make_box: Callable[[str], Any], runtime_image: str) -> None:
    program = "from importlib import metadata; print(*[metadata.version(n) for n in ('torch', 'transformers', 'dvc')])"
    done = make_box(runtime_image).run("-c", program, entrypoint="python")
    assert done.stdout.split() == [metadata.version(name) for name in ("torch", "transformers", "dvc")]

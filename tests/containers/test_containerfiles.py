"""Rules that every Containerfile, its context and its lock must keep; nothing is built."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import tomllib
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest
from docker.utils.build import exclude_paths
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from faithline.pipeline.graph import covers, load_graph

ROOT = Path(__file__).resolve().parents[2]
WORLDS = ("runtime", "airflow", "gpu")
SHARED = {"dvc", "dvc-data", "dvc-objects", "dvc-s3", "msgspec"}
LOCKS = sorted([*ROOT.glob("containers/*/*.lock"), *ROOT.glob("containers/*.lock")])


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def file(world: str) -> Path:
    return ROOT / "containers" / world / "Containerfile"


@pytest.fixture
def steps(file: Path) -> list[tuple[str, str]]:
    """Instruction and its arguments, comments dropped, continued lines joined."""
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in joined.splitlines() if line)]


def pins(lock: Path) -> dict[str, str]:
    found = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;]+)", lock.read_text(encoding="utf-8"), re.MULTILINE)
    return {canonicalize_name(name): version for name, version in found}


def group(name: str) -> list[Requirement]:
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return [Requirement(line) for line in document["dependency-groups"][name]]


def test_hadolint_finds_nothing(file: Path, program: Callable[[str], str]) -> None:
    done = subprocess.run([program("hadolint"), str(file)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0)


def test_the_base_is_pinned_by_digest(steps: list[tuple[str, str]]) -> None:
    assert steps[0][0] == "ARG"
    assert re.fullmatch(r"BASE=docker\.io/[a-z0-9./-]+:[A-Za-z0-9._-]+@sha256:[0-9a-f]{64}", steps[0][1])
    stages: list[str] = []
    for word, rest in steps:
        if word == "FROM":
            image, *name = rest.split(" AS ")
            assert image in {"${BASE}", "scratch", *stages}
            stages += name
    assert len(stages) >= 1, "more stages than one"
    assert "latest" not in str(steps)


def test_the_image_does_not_run_as_root(steps: list[tuple[str, str]]) -> None:
    final = steps[max(i for i, (word, _) in enumerate(steps) if word == "FROM") :]
    users = [rest for word, rest in final if word == "USER"]
    assert users == ["10001:10001"]
    assert final[-1][0] in {"ENTRYPOINT", "CMD"}


def test_no_secret_enters(steps: list[tuple[str, str]]) -> None:
    named = [rest for word, rest in steps if word in {"ARG", "ENV"}]
    names = {name for rest in named for name in re.findall(r"([A-Z][A-Z0-9_]*)(?==|$)", rest)}
    secret = {n for n in names if re.search(r"TOKEN|SECRET|PASS|KEY|CREDENTIAL|AUTH", n)}
    assert secret <= {"TOKENIZERS_PARALLELISM"}
    assert not [word for word, _ in steps if word == "ADD"]
    assert not re.search(r"curl|wget|git clone|https?://", str(steps))


def test_everything_is_installed_by_hash(steps: list[tuple[str, str]], world: str) -> None:
    installs = [rest for word, rest in steps if word == "RUN" and re.search(r"pip (install|sync)", rest)]
    assert len(installs) == 2
    assert all("--require-hashes" in rest for rest in installs)
    copied = [rest for word, rest in steps if word == "COPY"]
    assert any(f"containers/{world}/requirements.lock" in rest for rest in copied)


def test_labels_say_what_and_from_where(steps: list[tuple[str, str]]) -> None:
    (labels,) = [rest for word, rest in steps if word == "LABEL"]
    found = set(re.findall(r"org\.opencontainers\.image\.([a-z.]+)=", labels))
    assert found == {"title", "description", "licenses", "version", "revision", "base.name"}


def test_images_share_their_mounts(steps: list[tuple[str, str]]) -> None:
    (environment,) = [rest for word, rest in steps if word == "ENV"]
    values = dict(entry.split("=", 1) for entry in environment.split())
    assert (values["HOME"], values["XDG_CACHE_HOME"]) == ("/tmp", "/cache")
    assert ("WORKDIR", "/workspace") in steps


def test_the_context_is_an_allow_list(tmp_path: Path) -> None:
    graph = load_graph(ROOT)
    made = [path for stage in graph.stages.values() for path in stage.products]
    read = {dep for stage in graph.stages.values() for dep in stage.deps if not any(covers(out, dep) for out in made)}
    inside = {path if (ROOT / path).is_file() else f"{path}/x.py" for path in read} | {
        *("dvc.yaml", "params.yaml", "sources.lock.json", ".dvcignore", ".dvc/config", "conf/tiny.yaml"),
        *("faithline/pipeline/graph.py", "components/answer/__main__.py", "dags/retrain.py"),
        *("containers/build.lock", "containers/sbom.py", "containers/faithline"),
        *(f"containers/{world}/requirements.lock" for world in WORLDS),
    }
    outside = {
        *(".git/config", ".venv/bin/python", ".venv-airflow/x", "data/raw/x", "models/backbone/model.safetensors"),
        *("logs/x.jsonl", ".env", "kubeconfig", ".dvc/cache/files/x", ".dvc/config.local", ".dvc/tmp/lock", "id_rsa"),
        *("tests/x.py", "containers/runtime/dev.lock", "faithline/__pycache__/cli.cpython-311.pyc", ".tools/bin/uv"),
        *("components/answer/__pycache__/x.pyc", "docs/tour.md", "deploy/README.md"),
    }
    for path in inside | outside:
        place = tmp_path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    patterns = [
        line
        for line in (ROOT / ".containerignore").read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    let_through = {p for p in exclude_paths(str(tmp_path), patterns) if (tmp_path / p).is_file()}
    assert let_through == inside
    assert (ROOT / ".dockerignore").resolve() == ROOT / ".containerignore"


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: str(lock.relative_to(ROOT)))
def test_every_pin_has_hashes(lock: Path) -> None:
    entries = re.split(r"\n(?=[A-Za-z0-9])", re.sub(r"(?m)^\s*#.*\n", "", lock.read_text(encoding="utf-8")))
    bare = [entry.split()[0] for entry in entries if "==" in entry and "--hash=sha256:" not in entry]
    assert bare == []
    assert not re.search(r"(?m)^-|://", "\n".join(entries)), "no index and no place of this machine"


def test_gpu_lock_is_what_pyproject_and_verl_ask_for() -> None:
    lock = pins(ROOT / "containers/gpu/requirements.lock")
    for requirement in group("gpu"):
        assert requirement.specifier.contains(lock[canonicalize_name(requirement.name)]), requirement
    # verl's own metadata says which vLLM it was made for.
    wanted = [Requirement(line) for line in metadata.requires("verl") or []]
    pinned = [r for r in wanted if r.marker and r.marker.evaluate({"extra": "vllm"}) and "==" in str(r.specifier)]
    assert {r.name for r in pinned} >= {"torch", "vllm", "transformers"}
    for requirement in pinned:
        assert requirement.specifier.contains(lock[canonicalize_name(requirement.name)]), requirement


def test_worlds_hash_and_store_alike() -> None:
    runtime, gpu = (pins(ROOT / "containers" / world / "requirements.lock") for world in ("runtime", "gpu"))
    assert {name: gpu[name] for name in SHARED} == {name: runtime[name] for name in SHARED}


def test_the_build_uses_what_the_machine_has(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("container_build", ROOT / "containers" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    (tmp_path / "torch-1-cp311.whl").touch()
    machine = {"PIP_FIND_LINKS": f"/none {tmp_path}", "SSL_CERT_FILE": "/etc/ca.crt"}
    common = ["build", "--file", "containers/runtime/Containerfile", "--tag", "i:t"]
    wheels = ["--build-context", f"wheels={tmp_path}"]
    assert build.build_command("docker", "runtime", "i:t", {"REVISION": "c"}, machine) == [
        *("docker", *common, *wheels),
        *("--build-arg", "REVISION=c", "--build-arg", "TORCH=--find-links /mnt/wheels", "."),
    ]
    assert build.build_command("podman", "runtime", "i:t", {}, {}) == [
        *("podman", *common, "--layers", "--ignorefile", ".containerignore", ".")
    ]
    airflow = build.build_command("buildah", "airflow", "i:t", {}, machine)
    assert "--build-context" not in airflow
    assert airflow[airflow.index("--volume") + 1] == "/etc/ca.crt:/etc/ca.crt:ro"
    assert "PIP_CERT=/etc/ca.crt" in airflow
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?|unknown", build.revision(ROOT))
    assert build.revision(tmp_path) == "unknown"

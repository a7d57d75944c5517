"""Real images and containers: an own store of images, a base image, the built images, and podman's Docker API.

Everything lives in the user cache (`~/.cache/faithline/containers`), apart from the user's own images; a second run
finds unchanged layers there. What a machine lacks is said in the skip reason and skips only what needs it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from faithline.pipeline.machine import cache_folder

__all__ = ["Box", "Engine", "Node"]

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {
    "buildah": "buildah",
    "podman": "podman",
    "runc": "runc",
    "catatonit": "/usr/libexec/podman/catatonit",
    "mmdebstrap": "mmdebstrap",
}
BASE = "localhost/faithline-test-base:bookworm"
# Of this checkout: another one may be tested on the same store meanwhile.
TAG = f"test-{hashlib.sha256(str(ROOT).encode()).hexdigest()[:8]}"
# Limits are those a machine without systemd and without raised limits grants; networks are `none` or the host's.
CONTAINERS_CONF = """\
[containers]
default_ulimits = ["nofile=20000:20000", "nproc=1000:1000"]
netns = "host"
[engine]
runtime = "runc"
events_logger = "file"
cgroup_manager = "cgroupfs"
"""
STORAGE_CONF = """\
[storage]
driver = "overlay"
graphroot = "{folder}/storage"
runroot = "{folder}/run"
"""


@dataclass(frozen=True)
class Engine:
    """buildah and podman on a store of their own."""

    folder: Path
    environment: dict[str, str]

    def run(self, *command: str, timeout_s: float = 900) -> subprocess.CompletedProcess[str]:
        """Run a command with the engine's settings; the caller looks at the exit code."""
        return subprocess.run(
            command, env=self.environment, cwd=ROOT, capture_output=True, text=True, timeout=timeout_s, check=False
        )

    def succeed(self, *command: str, timeout_s: float = 900) -> str:
        """Run a command that must succeed and return its output."""
        done = self.run(*command, timeout_s=timeout_s)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return done.stdout


@dataclass(frozen=True)
class Box:
    """One image with two writable folders, run as a cluster would: no network, read-only, no capabilities."""

    engine: Engine
    image: str
    folder: Path

    @property
    def workspace(self) -> Path:
        """What the container sees as /workspace."""
        return self.folder / "workspace"

    def run(self, *command: str, entrypoint: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run one container to its end."""
        mounts = []
        for name in ("workspace", "cache"):
            place = self.folder / name
            if not place.exists():
                place.mkdir(parents=True)
                os.chown(place, 10001, 10001)
            mounts += ["--volume", f"{place}:/{name}"]
        limits = ["--network=none", "--read-only", "--cap-drop=all", "--security-opt=no-new-privileges"]
        start = [] if entrypoint is None else ["--entrypoint", entrypoint]
        return self.engine.run("podman", "run", "--rm", *limits, *mounts, *start, self.image, *command)


@pytest.fixture(scope="session")
def engine() -> Engine:
    """buildah and podman, or the reason why not."""
    missing = [package for package, program in PACKAGES.items() if shutil.which(program) is None]
    if missing:
        pytest.skip(f"containers: apt-get install {' '.join(missing)}")
    if os.geteuid() != 0:
        pytest.skip("containers: the test base image and its store need root")
    folder = cache_folder(os.environ, Path.home()) / "containers"
    (folder / "tmp").mkdir(parents=True, exist_ok=True)
    (folder / "containers.conf").write_text(CONTAINERS_CONF, encoding="utf-8")
    (folder / "storage.conf").write_text(STORAGE_CONF.format(folder=folder), encoding="utf-8")
    environment = os.environ | {
        "BUILDAH_ISOLATION": "chroot",
        "CONTAINERS_CONF": str(folder / "containers.conf"),
        "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf"),
        "TMPDIR": str(folder / "tmp"),
    }
    return Engine(folder, environment)


@pytest.fixture(scope="session")
def base_image(engine: Engine) -> str:
    """A Debian with Python 3.11 that stands in for the pinned base image, which an offline registry cannot give."""
    with FileLock(engine.folder / "lock"):
        if engine.run("buildah", "inspect", "--type", "image", BASE).returncode != 0:
            archive = engine.folder / "base.tar"
            make = ["mmdebstrap", "--quiet", "--variant=apt", "--dpkgopt=force-unsafe-io"]
            make += [f"--dpkgopt=path-exclude=/usr/share/{part}/*" for part in ("doc", "man", "locale")]
            include = "--include=passwd,python3,python3-venv,ca-certificates"
            made = engine.run(*make, include, "bookworm", str(archive), "/etc/apt/sources.list.d/debian.sources")
            if made.returncode != 0:
                pytest.skip(f"containers: mmdebstrap cannot make a Debian here: {made.stderr.strip()[-300:]}")
            context = engine.folder / "base"
            context.mkdir(exist_ok=True)
            (context / "Containerfile").write_text("FROM scratch\nADD base.tar /\n", encoding="utf-8")
            archive.replace(context / "base.tar")
            engine.succeed("buildah", "build", "--tag", BASE, str(context))
            (context / "base.tar").unlink()
    tried = engine.run("podman", "run", "--rm", "--network=none", BASE, "true")
    if tried.returncode != 0:
        pytest.skip(f"containers: podman is refused here: {tried.stderr.strip()[-300:]}")
    return BASE


def build(engine: Engine, world: str, base: str) -> str:
    """Build a world's image with the project's own script and return its name."""
    image = f"localhost/faithline-{world}:{TAG}"
    with FileLock(engine.folder / "lock"):
        script = [sys.executable, "containers/build.py", world, "--engine", "buildah", "--base", base, "--tag", TAG]
        output = engine.succeed(*script, "--no-bytecode")
    assert output.splitlines()[-1].startswith(f"{image} "), output[-500:]
    return image


@pytest.fixture(scope="session")
def runtime_image(engine: Engine, base_image: str) -> str:
    """The image of the world `runtime`, built from this checkout."""
    return build(engine, "runtime", base_image)


@pytest.fixture(scope="session")
def airflow_image(engine: Engine, base_image: str) -> str:
    """The image of the world `airflow`, built from this checkout."""
    return build(engine, "airflow", base_image)


@pytest.fixture
def make_box(engine: Engine, tmp_path: Path) -> Callable[[str], Box]:
    """Factory: an image with fresh folders."""
    return lambda image: Box(engine, image, tmp_path / "box")


@pytest.fixture(scope="session")
def docker_api(engine: Engine, base_image: str) -> Iterator[str]:
    """Address of podman's Docker API, for `DOCKER_HOST`; it sees the images of the store."""
    with tempfile.TemporaryDirectory(prefix="faithline-") as folder:
        address = f"unix://{folder}/docker.sock"
        service = subprocess.Popen(
            ["podman", "system", "service", "--time=0", address], env=engine.environment, stderr=subprocess.PIPE
        )
        try:
            deadline = time.monotonic() + 60
            while not Path(folder, "docker.sock").exists():
                if service.poll() is not None:
                    pytest.skip(f"containers: podman's Docker API ended: {service.communicate()[1][-300:]!r}")
                assert time.monotonic() < deadline, "podman's Docker API did not come up within a minute"
                time.sleep(0.05)
            yield address
        finally:
            service.terminate()
            service.wait(30)


@dataclass
class Node:
    """What a cluster gives a task beside its image, which KFP's local engine leaves out; and how the tasks ended."""

    root: Path
    """KFP's pipeline root."""
    secrets: dict[str, str] = field(default_factory=dict)
    """Environment variables from Kubernetes secrets."""
    volumes: dict[str, dict[str, str]] = field(default_factory=dict)
    """Claims, as Docker mounts folders."""
    codes: list[int] = field(default_factory=list)
    """Exit codes of the containers."""

    def run(self, client: Any, image: str, command: list[str], volumes: Any, **arguments: Any) -> int:
        """Run a container to its end, print its log and return its exit code."""
        client.api.timeout = 1800  # podman answers a request for a log with its first line
        environment = arguments.pop("environment", {}) | self.secrets
        mounts = volumes | self.volumes
        container = client.containers.run(
            image=image, command=command, detach=True, volumes=mounts, environment=environment, **arguments
        )
        try:
            for line in container.logs(stream=True):
                print(line.decode(), end="")
            self.codes.append(int(container.wait()["StatusCode"]))
            return self.codes[-1]
        finally:
            container.remove(force=True)


@pytest.fixture
def kfp_docker(docker_api: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    """KFP's local engine with its DockerRunner on podman.

    Initialise it with `kfp.local.init(local.DockerRunner(entrypoint="env", ...), pipeline_root=...)`: kfp hands a
    task's command to Docker as arguments of the entrypoint, where a cluster replaces the entrypoint.
    """
    from kfp import local
    from kfp.local import docker_task_handler

    monkeypatch.setenv("DOCKER_HOST", docker_api)
    node = Node(tmp_path / "root")
    node.root.mkdir()
    # kfp 2.17 has the engine remove a container as it ends and takes the code of one that is gone for 0; podman has
    # always removed it by then, so that every failure would count as success (kubeflow/pipelines #13332).
    monkeypatch.setattr(docker_task_handler, "run_docker_container", node.run)
    # The image's user writes into folders that kfp makes, so they must be open to it.
    before = os.umask(0)
    node.root.chmod(0o777)
    yield node
    os.umask(before)
    local.config.LocalExecutionConfig.instance = None


@pytest.fixture(scope="session")
def program() -> Callable[[str], str]:
    """Factory: the path of a checking program, of the development environment or PATH."""

    def find(name: str) -> str:
        beside = Path(sys.executable).with_name(name)
        found = str(beside) if beside.exists() else shutil.which(name)
        if found is None:
            pytest.skip(f"{name} is not installed: make setup")
        return found

    return find

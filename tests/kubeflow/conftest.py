"""The small project of `tests/cluster`, and KFP's own local engine with a stand-in for the Docker daemon.

The stand-in starts what the daemon would start, as a process in a fresh clone of the project, so everything else is
real: the compiled text, KFP's orchestrator and placeholders, the wrapper, `run-stage`, DVC, the store.
"""

from __future__ import annotations

import os
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from faithline.cluster.settings import load_cluster
from tests.cluster.conftest import edit, toy

__all__ = ["Daemon", "edit", "make_daemon", "toy"]


class Daemon:
    """Runs a container's command in a clone of the image's project, one clone per container."""

    def __init__(self, image: Path, clone: Callable[[Path, int], Path], environment: dict[str, str]) -> None:
        self.image = image
        self.ran: list[str] = []
        self.codes: list[int] = []
        self.texts: list[str] = []
        self._clone = clone
        self._environment = environment

    def run(self, *, command: list[str], **_: Any) -> Any:
        """Run a container to its end."""
        clone = self._clone(self.image, len(self.ran))
        self.ran.append(command[command.index("run-stage") + 1])
        argv = [
            part
            for word in command
            for part in ([sys.executable, "-m", "faithline.cli"] if word == "faithline" else [word])
        ]
        done = subprocess.run(
            argv, cwd=clone, capture_output=True, check=False, env=os.environ | self._environment, timeout=1800
        )
        self.codes.append(done.returncode)
        self.texts.append((done.stdout + done.stderr).decode())
        return types.SimpleNamespace(
            logs=lambda **_: iter([done.stdout + done.stderr]), wait=lambda: {"StatusCode": done.returncode}
        )


@pytest.fixture
def make_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Daemon]]:
    """Factory: KFP's local engine, initialised, whose containers run in clones of a project."""
    from kfp import local

    def make(image: Path, clone: Callable[[Path, int], Path], environment: dict[str, str]) -> Daemon:
        from kfp.local import docker_task_handler

        daemon = Daemon(image, clone, environment)
        known = types.SimpleNamespace(tags=list(load_cluster(image).images.values()), attrs={"RepoDigests": []})
        client = types.SimpleNamespace(
            images=types.SimpleNamespace(list=lambda: [known]), containers=daemon, info=dict, close=lambda: None
        )
        module: Any = types.ModuleType("docker")
        module.from_env, module.DockerClient = lambda: client, object
        module.errors = types.SimpleNamespace(NotFound=KeyError)
        monkeypatch.setitem(sys.modules, "docker", module)
        monkeypatch.setattr(docker_task_handler, "docker", module, raising=False)
        local.init(local.DockerRunner(), pipeline_root=str(tmp_path / "root"), raise_on_error=True)
        return daemon

    yield make
    local.config.LocalExecutionConfig.instance = None

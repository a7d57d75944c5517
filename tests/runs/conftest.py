"""Small pipelines, and tries at a stage forked from a process that is warm."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.store_servers import make_project
from faithline.runs.processes import marked


@dataclass
class Try:
    """A running `faithline` command."""

    pid: int
    log: Path

    code: int | None = None

    def wait(self) -> int:
        if self.code is None:
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.code

    def end(self) -> None:
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def text(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def wait_for(self, path: Path) -> None:
        """Wait until a file is there."""
        for _ in range(600):
            if path.exists():
                return
            time.sleep(0.05)
        pytest.fail(f"{path} did not appear: {self.text()}")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The pipeline of three stages."""
    return make_project(tmp_path / "project")


@pytest.fixture(scope="session")
def warm() -> None:
    """Load what tries need once, before they are forked."""
    import dvc.cli  # noqa: F401

    import faithline.runs.run_stage  # noqa: F401
    from faithline.runs.project import Project

    with tempfile.TemporaryDirectory() as folder:
        Project(make_project(Path(folder) / "warm-up"), cache=None, private=True).close()


@pytest.fixture
def fork(tmp_path: Path, warm: None) -> Iterator[Callable[..., Try]]:
    """Call a function in a forked process, which exits with what it returns; stopped when the test ends."""
    started: list[Try] = []

    def run(function: Callable[[], int]) -> Try:
        log = tmp_path / f"try-{len(started)}.log"
        pid = os.fork()
        if pid:
            started.append(Try(pid, log))
            return started[-1]
        code = 1
        try:
            sink = os.open(log, os.O_WRONLY | os.O_CREAT)
            os.dup2(sink, 1)
            os.dup2(sink, 2)
            sys.stdout = open(1, "w", closefd=False, buffering=1)  # noqa: SIM115 - pytest's own are not ours
            sys.stderr = open(2, "w", closefd=False, buffering=1)  # noqa: SIM115
            code = function()
        except SystemExit as error:
            code = int(error.code or 0)
        except BaseException:  # noqa: BLE001 - a forked try must end here
            traceback.print_exc()
        finally:
            os._exit(code)

    yield run
    for one in started:
        one.end()
    for pid in [pid for folder in tmp_path.iterdir() if folder.is_dir() for pid in marked(folder)]:
        os.kill(pid, signal.SIGKILL)


@pytest.fixture
def start(fork: Callable[..., Try]) -> Callable[..., Try]:
    """Start a `faithline` command."""
    from faithline import cli

    return lambda root, *arguments: fork(lambda: cli.main(["--root", str(root), *arguments]))


@pytest.fixture
def dvc(fork: Callable[..., Try]) -> Callable[..., str]:
    """Run a `dvc` command in a folder and return what it printed."""

    def run(folder: Path, *arguments: str) -> str:
        from dvc.cli import main

        attempt = fork(lambda: main(["--cd", str(folder), *arguments]))
        assert attempt.wait() == 0, attempt.text()
        return attempt.text()

    return run


@pytest.fixture
def run_stage(start: Callable[..., Try]) -> Callable[..., Try]:
    """Start a try at a stage."""

    def run(root: Path, stage: str, store: str, *options: str, run_id: str = "R") -> Try:
        return start(root, "run-stage", stage, "--run-id", run_id, "--store", store, *options)

    return run

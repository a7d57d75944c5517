"""The whole sample pipeline at its tiny size: fresh clones of the project, and what one local `dvc repro` gives.

The local run is made once for all tests and all of pytest's workers; its `dvc.lock` is what runs that lived in a store
must come to.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from filelock import FileLock

ROOT = Path(__file__).resolve().parents[2]
PATCH = "conf/tiny.yaml"
REGISTRY_BUCKET = "sample-champions"
REGISTRY = f"s3://{REGISTRY_BUCKET}/registry"
"""Where the champion of every run is kept: clones are thrown away, and a lock names the registry's address."""
TIMEOUT_S = 1800
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
"""Search path on which `python`, as stages call it, is this environment's."""


def call(folder: Path, *command: str) -> str:
    """Run a module of this environment in a folder, as `python -m`; it must succeed; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env=os.environ | {"PATH": PATH},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    printed = f"{done.stdout[-3000:]}{done.stderr[-3000:]}"
    assert done.returncode == 0, f"{' '.join(command)}: exit {done.returncode}\n{printed}"
    return done.stdout


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder."""
    command = ["git", "-c", "user.name=test", "-c", "user.email=test@example.invalid", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def make_origin(folder: Path, cluster: Mapping[str, object] | None = None) -> Path:
    """Make a repository of one commit: this checkout's files at the tiny size, nothing ever run.

    Args:
        folder: Where to.
        cluster: Changes to the section `cluster`, on which no stage depends.
    """
    for name in git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard").splitlines():
        if (ROOT / name).is_file() and not name.startswith(("metrics/", "plots/", "dvc.lock")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    here = {"cluster": cluster or {}, "promote": {"registry": REGISTRY}}
    (folder / "conf/here.yaml").write_text(json.dumps(here), encoding="utf-8")
    call(folder, "faithline.cli", "params", "apply", PATCH, "conf/here.yaml")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "tiny")
    return folder


def clone(origin: Path, folder: Path) -> Path:
    """Clone a repository."""
    git(origin, "clone", "-q", str(origin), str(folder))
    return folder


def local_lock(factory: pytest.TempPathFactory) -> bytes:
    """Return the `dvc.lock` of one local `dvc repro`, made by whichever worker asks first.

    Its S3 server must hold REGISTRY_BUCKET, and the environment must reach it.
    """
    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    kept = shared / "sample.lock"
    with FileLock(shared / "sample.filelock", timeout=TIMEOUT_S):
        if not kept.exists():
            folder = make_origin(shared / "sample")
            call(folder, "dvc", "repro")
            shutil.copyfile(folder / "dvc.lock", kept)
            shutil.rmtree(folder)
    return kept.read_bytes()


def adopt(origin: Path, folder: Path, store: str, run_id: str) -> Path:
    """Adopt a run in one more clone, commit it, and clone that, as a colleague would; return the colleague's."""
    adopted = clone(origin, folder / "adopted")
    call(adopted, "faithline.cli", "runs", "adopt", run_id, "--store", store)
    git(adopted, "add", "-A")
    git(adopted, "commit", "-qm", f"run {run_id}")
    return clone(adopted, folder / "colleague")


def check_pull(colleague: Path, store: str) -> None:
    """Check that DVC brings everything and finds nothing to do."""
    call(colleague, "dvc", "remote", "add", "--default", "runs", f"{store}/dvc")
    call(colleague, "dvc", "pull", "-q")
    assert call(colleague, "dvc", "status").strip() == "Data and pipelines are up to date."
    assert (colleague / "reports/report.html").is_file()

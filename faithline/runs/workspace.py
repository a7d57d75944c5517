"""The folder a stage runs in: the project itself, or a copy of it where the project cannot be written.

One attempt at a time works in a folder; a second waits and names the first. The lock is the kernel's, so it goes with
its process however that ends; a stage's command that survived its killed `run-stage` is ended before the next attempt
begins. A copy is made for one attempt, holds what no stage produces, and is removed afterwards.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from faithline.pipeline.errors import ConfigError, EnvironmentMismatch, Preempted
from faithline.pipeline.graph import PIPELINE_FILE, Graph
from faithline.runs.fragments import LOCK_FILE, read_lock
from faithline.runs.processes import marked, send, wait_until_gone

__all__ = ["check_project", "private_copy", "workspace_lock"]

_LOCK = Path(".dvc", "tmp", "run-stage.lock")
_LEFT_OUT = {"__pycache__", "node_modules", "logs"}
_DVC_OWN = {"cache", "tmp", "config.local"}


@contextmanager
def workspace_lock(root: Path, *, wait_s: float) -> Iterator[None]:
    """Work alone in a folder.

    Raises:
        Preempted: If another attempt still works there after `wait_s`; it names the process.
    """
    path = root / _LOCK
    path.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + wait_s
    with path.open("a+") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    file.seek(0)
                    raise Preempted(
                        f"process {file.read().strip() or '?'} runs a stage in this folder",
                        where=str(root),
                        next_step="let it end, or give each its own --workspace",
                    ) from None
                time.sleep(0.1)
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        _end_orphans(root)
        _repair(root)
        yield


def _end_orphans(root: Path) -> None:
    orphans = marked(root)
    send(orphans, signal.SIGKILL)
    if orphans and not wait_until_gone(root, 10):
        raise Preempted("a stage's command of an earlier attempt does not end", where=str(root))


def _repair(root: Path) -> None:
    """Remove what DVC was writing when it was killed: it writes both files in place."""
    rwlock = root / ".dvc" / "tmp" / "rwlock"
    with suppress(FileNotFoundError):
        try:
            json.loads(rwlock.read_bytes())
        except ValueError:
            rwlock.unlink()
    try:
        read_lock(root)
    except ConfigError as error:
        print(f"warning: {LOCK_FILE} is removed, for the run makes a new one: {error.what}", file=sys.stderr)
        (root / LOCK_FILE).unlink()


@contextmanager
def private_copy(project: Path, folder: Path, graph: Graph) -> Iterator[Path]:
    """Copy a project, without what its stages produce, to a new folder below `folder`; remove it afterwards.

    Raises:
        EnvironmentMismatch: If `folder` lies inside the project or cannot be written.
    """
    project, folder = project.resolve(), folder.resolve()
    if folder.is_relative_to(project):
        raise EnvironmentMismatch("the workspace lies inside the project", where=str(folder), next_step="move it")
    folder.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(folder)
    copy = folder / f"run-{secrets.token_hex(6)}"
    try:
        with _lock_of(copy).open("w") as owned:
            fcntl.flock(owned, fcntl.LOCK_EX)
            products = {path for stage in graph.stages.values() for path in stage.products}
            shutil.copytree(project, copy, symlinks=True, ignore=_ignored(project, products))
            yield copy
    finally:
        _remove(copy)


def _ignored(project: Path, products: set[str]) -> Callable[[str, list[str]], set[str]]:
    def ignored(folder: str, names: list[str]) -> set[str]:
        here = Path(folder).relative_to(project)
        left = {name for name in names if name in _LEFT_OUT or (here / name).as_posix() in products}
        if here == Path():
            left |= {name for name in names if name.startswith(".") and name not in {".dvc", ".dvcignore"}}
        if here == Path(".dvc"):
            left |= _DVC_OWN & set(names)
        return left

    return ignored


def _remove_abandoned(folder: Path) -> None:
    """Remove copies whose process was killed: nobody holds their lock."""
    for lock in folder.glob(".run-*.lock"):
        copy = folder / lock.name.removeprefix(".").removesuffix(".lock")
        with suppress(FileNotFoundError), lock.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            send(marked(copy), signal.SIGKILL)
            wait_until_gone(copy, 10)
            _remove(copy)


def _lock_of(copy: Path) -> Path:
    return copy.with_name(f".{copy.name}.lock")


def _remove(copy: Path) -> None:
    shutil.rmtree(copy, ignore_errors=True)
    _lock_of(copy).unlink(missing_ok=True)


def check_project(root: Path) -> None:
    """Check that a folder is a DVC project with a pipeline.

    Raises:
        EnvironmentMismatch: If it is not.
    """
    if not (root / ".dvc").is_dir():
        raise EnvironmentMismatch(
            "no DVC project here", where=str(root), next_step=f"run it where {PIPELINE_FILE} and .dvc are"
        )

"""The processes of an attempt, found by a mark in their environment, wherever they are in the process tree.

DVC starts a stage's command through a shell and gives no handle on it; a command that outlives a killed `run-stage` has
no parent that knows it. Both are found in `/proc` by the variable that every descendant inherits. Without `/proc` (not
Linux) none are found: a stop signal then ends the attempt without telling the stage first.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

__all__ = ["WORKSPACE_MARK", "marked", "send", "wait_until_gone"]

WORKSPACE_MARK = "FAITHLINE_WORKSPACE"
"""Environment variable with the attempt's workspace."""


def marked(workspace: Path) -> list[int]:
    """Return the processes that work for an attempt in `workspace`, this one left out."""
    mark = f"{WORKSPACE_MARK}={workspace.resolve()}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        # A process can end while it is looked at, and others' are not ours to read.
        with suppress(OSError):
            if int(folder.name) != os.getpid() and mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def send(pids: list[int], number: signal.Signals) -> None:
    """Send a signal to processes that may have ended."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def wait_until_gone(workspace: Path, timeout_s: float) -> bool:
    """Wait until no process works in `workspace`; whether that came true in time."""
    deadline = time.monotonic() + timeout_s
    while marked(workspace):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True

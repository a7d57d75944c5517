"""The error tree of the pipeline and its exit codes.

Every failure a user can cause or meet is one of these classes. Its message says *what* went wrong, *where*, and what
to do *next*; its class fixes the exit code, which means the same in every runner (local, Kubeflow, Airflow). Only 75
is ever retried. Anything else that escapes a stage is a bug in Faithline and exits 1 with a traceback.
"""

from __future__ import annotations

import errno
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of every Faithline process."""

    OK = 0
    BUG = 1
    GATE_REJECTED = 10
    DATA_INVALID = 20
    DIVERGED = 30
    CONFIG = 40
    OUT_OF_MEMORY = 50
    TEMPORARY = 75
    INTERRUPTED = 130


class PipelineError(Exception):
    """Base of all expected failures.

    Args:
        what: What went wrong, one sentence without a full stop.
        where: File, line, key or stage concerned.
        next_step: What the reader should do now.
    """

    exit_code: ExitCode = ExitCode.BUG

    def __init__(self, what: str, *, where: str = "", next_step: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.next_step = next_step

    def __str__(self) -> str:
        lines = [self.what]
        if self.where:
            lines.append(f"  where: {self.where}")
        if self.next_step:
            lines.append(f"  next:  {self.next_step}")
        return "\n".join(lines)


class ConfigError(PipelineError):
    """Settings are wrong: unknown key, wrong type, impossible combination."""

    exit_code = ExitCode.CONFIG


class EnvironmentMismatch(PipelineError):
    """The machine or installation does not fit: missing model, wrong digest, no disk space, wrong version."""

    exit_code = ExitCode.CONFIG


class DataInvalid(PipelineError):
    """Input data are missing, empty, corrupt, or break the schema."""

    exit_code = ExitCode.DATA_INVALID


class Infeasible(PipelineError):
    """No solution exists under the given budgets."""

    exit_code = ExitCode.DATA_INVALID


class GateRejected(PipelineError):
    """A promotion gate says: keep the champion."""

    exit_code = ExitCode.GATE_REJECTED


class Diverged(PipelineError):
    """Training went wrong: NaN, collapse, blow-up. Retrying unchanged does not help."""

    exit_code = ExitCode.DIVERGED


class OutOfMemory(PipelineError):
    """Host or accelerator memory ran out."""

    exit_code = ExitCode.OUT_OF_MEMORY


class Preempted(PipelineError):
    """The run was told to stop (SIGTERM) or hit a passing fault; run it again."""

    exit_code = ExitCode.TEMPORARY


_DISK = {errno.ENOSPC: "no disk space left", errno.EDQUOT: "the disk quota is used up"}
_ACCESS = {
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
}


def classify(error: BaseException) -> PipelineError | None:
    """Map a low-level exception to the pipeline error it means, or None when it is a bug.

    Libraries often wrap the cause (pyarrow's `OSError`, torch's `RuntimeError`), so the text is read as well.
    """
    if isinstance(error, PipelineError):
        return error
    text = str(error)
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError" or "can't allocate memory" in text:
        return OutOfMemory(
            f"memory ran out: {text or 'MemoryError'}",
            next_step="lower the stage's batch or length settings, or give it more memory",
        )
    if isinstance(error, OSError) or "No space left on device" in text:
        number = getattr(error, "errno", None)
        where = str(getattr(error, "filename", "") or "")
        if number in _DISK or "No space left on device" in text:
            what = _DISK.get(number or 0, "no disk space left")
            return EnvironmentMismatch(what, where=where, next_step="free space or move the project, then run it again")
        if number in _ACCESS:
            return EnvironmentMismatch(
                _ACCESS[number], where=where, next_step="make the folder writable for this user, then run it again"
            )
    return None

from __future__ import annotations

import errno

import pytest

from faithline.pipeline import errors


def test_exit_codes_are_the_documented_ones() -> None:
    codes = {
        errors.GateRejected: 10,
        errors.DataInvalid: 20,
        errors.Infeasible: 20,
        errors.Diverged: 30,
        errors.ConfigError: 40,
        errors.EnvironmentMismatch: 40,
        errors.OutOfMemory: 50,
        errors.Preempted: 75,
    }
    assert {kind: int(kind.exit_code) for kind in codes} == codes


def test_message_has_what_where_next() -> None:
    error = errors.DataInvalid("no rows", where="x.json:3", next_step="fill it")
    assert str(error) == "no rows\n  where: x.json:3\n  next:  fill it"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/x"), 40),
        (RuntimeError("[enforce fail] write failed: No space left on device"), 40),
        (OSError(errno.EROFS, "Read-only file system", "/x"), 40),
        (PermissionError(errno.EACCES, "Permission denied", "/x"), 40),
        (MemoryError(), 50),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes"), 50),
    ],
)
def test_low_level_errors_map_to_codes(error: BaseException, code: int) -> None:
    known = errors.classify(error)
    assert known is not None
    assert known.exit_code == code
    assert known.next_step


def test_bugs_are_not_classified() -> None:
    assert errors.classify(KeyError("x")) is None
    assert errors.classify(RuntimeError("shape mismatch")) is None
    assert errors.classify(FileNotFoundError(errno.ENOENT, "gone", "/x")) is None

"""A tombstone says that a stage of a run failed for good, so that a runner's blind retries end at once.

Kubeflow's retry knows no classes of failure: it would train a diverged model three times more. After an attempt that
ended with anything but 0 or 75, a small object with the exit code is left in the run's store; a later attempt finds it,
does no work and ends with the same code. Whoever means the retry (`faithline kfp retry`) removes the tombstones first.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass

from faithline.pipeline.errors import ConfigError, ExitCode, classify
from faithline.store.objects import Store

__all__ = ["Tombstone", "guarded", "lasting", "read_tombstone", "tombstone_key"]


@dataclass(frozen=True)
class Tombstone:
    """Why a stage of a run is not tried again."""

    exit_code: int
    what: str


def tombstone_key(run_id: str, stage: str) -> str:
    """Key of the object for a stage of a run."""
    return f"runs/{run_id}/{stage}/tombstone.json"


def lasting(code: int) -> bool:
    """Whether trying again would end alike."""
    return code not in {ExitCode.OK, ExitCode.TEMPORARY}


def read_tombstone(store: Store, run_id: str, stage: str) -> Tombstone | None:
    """Return the tombstone of a stage, None if it has none.

    Raises:
        ConfigError: If it is damaged.
    """
    key = tombstone_key(run_id, stage)
    found = store.read(key)
    if found is None:
        return None
    try:
        document = json.loads(found.content)
        return Tombstone(int(document["exit_code"]), str(document["what"]))
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"the tombstone is damaged: {type(error).__name__} {error}",
            where=f"{store.url}/{key}",
            next_step="delete it if the stage is to be tried again",
        ) from None


def guarded(store: Store, run_id: str, stage: str, attempt: Callable[[], int]) -> int:
    """Run one attempt at a stage unless an earlier one failed for good; return the exit code.

    Args:
        store: The run's store.
        run_id: The run.
        stage: The stage.
        attempt: Does the work and returns the exit code; what it raises is passed on after the tombstone is laid.
    """
    found = read_tombstone(store, run_id, stage)
    if found is not None:
        print(
            f"error: {stage}: not tried again, an earlier attempt of run {run_id} ended with {found.exit_code}"
            + (f": {found.what}" if found.what else "")
            + f"\n  where: {tombstone_key(run_id, stage)}"
            + "\n  next:  mend the cause, then start a new run, or `faithline kfp retry` this one",
            file=sys.stderr,
        )
        return found.exit_code
    try:
        code = attempt()
    except Exception as error:
        known = classify(error)
        _lay(store, run_id, stage, known.exit_code if known else ExitCode.BUG, known.what if known else str(error))
        raise
    _lay(store, run_id, stage, code, "")
    return code


def _lay(store: Store, run_id: str, stage: str, code: int, what: str) -> None:
    if not lasting(code):
        return
    try:
        store.write(tombstone_key(run_id, stage), json.dumps({"exit_code": int(code), "what": what}).encode())
    except Exception as error:  # noqa: BLE001 - a store out of reach must not hide why the stage failed
        print(f"warning: {stage}: no tombstone, so retries will run again: {error}", file=sys.stderr)

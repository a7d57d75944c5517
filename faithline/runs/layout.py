"""Where things are in the store of runs; the only place that knows."""

from __future__ import annotations

import re

from faithline.pipeline.errors import ConfigError

__all__ = ["REMOTE", "attempt_key", "checked_run_id", "fragment_key", "lease_key", "object_key", "run_key", "stage_of"]

REMOTE = "dvc"
"""The DVC remote."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:+@=-]{0,199}")


def checked_run_id(run_id: str) -> str:
    """Return a run id that can be part of a key: Airflow's `scheduled__2026-01-01T00:00:00+00:00` is one.

    Raises:
        ConfigError: If it cannot.
    """
    if not _NAME.fullmatch(run_id):
        raise ConfigError(
            f"`{run_id}` is no run id",
            where="--run-id",
            next_step="use up to 200 letters, digits and . _ : + @ = - with a letter or digit first",
        )
    return run_id


def run_key(run_id: str) -> str:
    """Key of the document that says what a run is."""
    return f"runs/{run_id}/run.json"


def fragment_key(run_id: str, stage: str) -> str:
    """Key of a stage's part of `dvc.lock`."""
    return f"runs/{run_id}/{stage}/fragment.yaml"


def lease_key(run_id: str, stage: str) -> str:
    """Key of a stage's lease."""
    return f"runs/{run_id}/{stage}/lease.json"


def attempt_key(run_id: str, stage: str, attempt: str) -> str:
    """Key of the record of one attempt at a stage."""
    return f"runs/{run_id}/{stage}/attempts/{attempt}.json"


def object_key(md5: str) -> str:
    """Key of an object in the DVC remote; `md5` ends in `.dir` for a folder's list of files."""
    return f"{REMOTE}/files/md5/{md5[:2]}/{md5[2:]}"


def stage_of(key: str, run_id: str) -> str | None:
    """Name of the stage whose fragment `key` is, None if it is none."""
    match = re.fullmatch(rf"runs/{re.escape(run_id)}/([^/]+)/fragment\.yaml", key)
    return match[1] if match else None

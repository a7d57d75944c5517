"""What a run is: its params document, its graph and its code's commit, fixed when its first stage starts.

Later stages must find the same `params.yaml` and `dvc.yaml`; otherwise the parts would not make one run. Code is not
compared here but by DVC, dependency by dependency (`faithline.runs.fragments`): a commit that changes no stage's code
does no harm.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from faithline.pipeline.checkout import commit_of
from faithline.pipeline.errors import ConfigError
from faithline.pipeline.graph import PARAMS_FILE, PIPELINE_FILE
from faithline.pipeline.yaml import read_mapping
from faithline.runs.layout import run_key
from faithline.store.objects import ABSENT, Store

__all__ = ["RunDocument", "check_same", "pin_run", "read_run"]


class RunDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `run.json`."""

    run_id: str
    params: str
    """`params.yaml`, whole."""
    dvc_yaml_sha256: str
    git_commit: str | None
    """The commit that was checked out, None outside a repository or with uncommitted changes."""


def pin_run(store: Store, run_id: str, root: Path) -> RunDocument:
    """Fix what run `run_id` is, or compare the project with what was fixed before.

    Raises:
        ConfigError: If the project's `params.yaml` or `dvc.yaml` is not the run's; it names what differs.
    """
    run = read_run(store, run_id)
    if run is None:
        params = (root / PARAMS_FILE).read_text(encoding="utf-8")
        document = RunDocument(
            run_id=run_id, params=params, dvc_yaml_sha256=_digest(root / PIPELINE_FILE), git_commit=commit_of(root)
        )
        store.write(run_key(run_id), msgspec.json.format(msgspec.json.encode(document)) + b"\n", expect=ABSENT)
        run = read_run(store, run_id)
        if run is None:
            raise ConfigError("the run's document is gone right after it was written", where=run_key(run_id))
    check_same(run, root)
    return run


def read_run(store: Store, run_id: str) -> RunDocument | None:
    """Return what a run is, None if no stage of it was ever started.

    Raises:
        ConfigError: If the document is damaged.
    """
    found = store.read(run_key(run_id))
    if found is None:
        return None
    try:
        document = msgspec.json.decode(found.content, type=RunDocument)
        if not isinstance(_settings(document), dict):
            raise msgspec.ValidationError("its params are no mapping")
        return document
    except (msgspec.DecodeError, YAMLError) as error:
        raise ConfigError(
            f"the run's document is damaged: {str(error).splitlines()[0]}",
            where=f"{store.url}/{run_key(run_id)}",
            next_step="start a new run with another id",
        ) from None


def check_same(run: RunDocument, root: Path) -> None:
    """Compare a project with a run.

    Raises:
        ConfigError: Naming the settings or the file that differ.
    """
    advice = "check out what the run was started with, or start a new run with another id"
    ours = read_mapping(root / PARAMS_FILE)
    theirs = _settings(run)
    if ours != theirs:
        differences = list(_differences(theirs, ours, ""))
        shown = "; ".join(differences[:5]) + ("; ..." if len(differences) > 5 else "")
        raise ConfigError(
            f"run {run.run_id} has other settings: {shown}", where=str(root / PARAMS_FILE), next_step=advice
        )
    if _digest(root / PIPELINE_FILE) != run.dvc_yaml_sha256:
        raise ConfigError(
            f"run {run.run_id} has another pipeline (sha256 {run.dvc_yaml_sha256[:12]}, here "
            f"{_digest(root / PIPELINE_FILE)[:12]})"
            + (f"; it was started at commit {run.git_commit[:12]}" if run.git_commit else ""),
            where=str(root / PIPELINE_FILE),
            next_step=advice,
        )


def _settings(run: RunDocument) -> Any:
    return YAML(typ="safe", pure=True).load(run.params)


def _differences(theirs: Mapping[str, Any], ours: Mapping[str, Any], where: str) -> Iterator[str]:
    for key in sorted({*theirs, *ours}, key=str):
        place = f"{where}.{key}" if where else str(key)
        left, right = theirs.get(key, "(none)"), ours.get(key, "(none)")
        if isinstance(left, Mapping) and isinstance(right, Mapping):
            yield from _differences(left, right, place)
        elif left != right:
            yield f"{place} is {_short(left)}, here {_short(right)}"


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()

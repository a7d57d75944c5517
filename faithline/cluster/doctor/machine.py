"""Probes of the machine: interpreter and packages, settings, disk, GPU driver, models."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata

from faithline.cluster.doctor.checkup import BOUND_S, Check, Scene
from faithline.cluster.settings import load_cluster
from faithline.cluster.tasks import project_tasks
from faithline.pipeline.errors import PipelineError
from faithline.pipeline.machine import cache_folder, hub_offline
from faithline.pipeline.records import RECORD

__all__ = ["disk", "gpu", "models", "settings", "versions"]

GIB = 2**30
NEEDED_GIB = 1
"""The small profile's outputs and models together."""
COMFORT_GIB = 10
LOCK = "containers/runtime/requirements.lock"
SHOWN = ("dvc", "torch", "transformers", "kfp", "boto3")


def versions(scene: Scene) -> Iterator[Check]:
    """Look at Python and at the installed packages, against the lock where it is there."""
    python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    if not (3, 11) <= sys.version_info[:2] < (3, 13):
        yield Check("versions", "fail", f"{python}: 3.11 or 3.12 is needed", "make setup PYTHON=/path/to/python3.11")
    lock = scene.root / LOCK
    locked = (
        dict(re.findall(r"^([A-Za-z0-9_.-]+)==([^\s\\;]+)", lock.read_text(encoding="utf-8"), re.MULTILINE))
        if lock.is_file()
        else {}
    )
    absent = sorted(name for name in locked if _version(name) is None)
    other = sorted(name for name in locked if _version(name) not in {None, locked[name]})
    shown = ", ".join(f"{name} {_version(name) or 'absent'}" for name in SHOWN)
    if absent:
        yield Check("versions", "fail", f"{len(absent)} packages of {LOCK} are absent: {_few(absent)}", "make setup")
    if other:
        named = _few([f"{name} {_version(name)} (lock: {locked[name]})" for name in other])
        yield Check("versions", "note", f"{len(other)} packages differ from {LOCK}: {named}", "make setup")
    if not absent and not other:
        yield Check("versions", "ok", f"{python}, {shown}" + (f"; all {len(locked)} as locked" if locked else ""))


def _version(name: str) -> str | None:
    try:
        return metadata.version(name).split("+", maxsplit=1)[0]
    except metadata.PackageNotFoundError:
        return None


def _few(names: list[str]) -> str:
    return ", ".join(names[:3]) + (" ..." if len(names) > 3 else "")


def settings(scene: Scene) -> Iterator[Check]:
    """Look at `dvc.yaml` and `params.yaml` as a cluster run would read them."""
    try:
        cluster = load_cluster(scene.root)
        tasks = project_tasks(scene.root)
    except PipelineError as error:
        yield Check(
            "settings", "fail", f"{error.where}: {error.what}", error.next_step or "see `faithline params check`"
        )
        return
    yield Check("settings", "ok", f"{len(tasks)} stages, {len(cluster.pools)} pools")
    loose = sorted({task.image for task in tasks if "@sha256:" not in task.image})
    if loose:
        yield scene.lack(
            "settings",
            f"image {loose[0]} is not pinned by digest",
            "push it and name NAME@sha256:DIGEST in params.yaml, cluster.images",
        )


def disk(scene: Scene) -> Iterator[Check]:
    """Look at the space for the project and for the model cache."""
    for what, folder in (("project", scene.root), ("model cache", cache_folder(scene.environment, scene.home))):
        there = next(parent for parent in (folder.absolute(), *folder.absolute().parents) if parent.exists())
        free = shutil.disk_usage(there).free / GIB
        if free < NEEDED_GIB:
            fix = "free space" + (", or set XDG_CACHE_HOME" if what == "model cache" else ", or move the project")
            yield Check("disk", "fail", f"{free:.1f} GiB free for the {what} in {folder}", fix)
        elif free < COMFORT_GIB:
            yield Check("disk", "note", f"{free:.1f} GiB free for the {what}", "training profiles want tens of GiB")
        else:
            yield Check("disk", "ok", f"{free:.0f} GiB free for the {what}")


def gpu(_scene: Scene) -> Iterator[Check]:
    """Look at the NVIDIA driver and whether torch can use it."""
    program = shutil.which("nvidia-smi")
    if program is None:
        yield Check("gpu", "ok", "no NVIDIA driver: stages run on the CPU here")
        return
    query = [program, "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=0.9 * BOUND_S, check=False)
    except subprocess.TimeoutExpired:
        yield Check("gpu", "fail", "nvidia-smi hangs", "the driver is out of order: restart the machine")
        return
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        first = next(iter((done.stderr or done.stdout).strip().splitlines()), f"exit code {done.returncode}")
        yield Check("gpu", "fail", f"nvidia-smi fails: {first}", "reload or install the NVIDIA driver, then restart")
        return
    yield Check("gpu", "ok", f"{len(lines)} x {lines[0]}")
    try:
        build = metadata.version("torch")
    except metadata.PackageNotFoundError:
        return
    if build.endswith("+cpu"):
        yield Check(
            "gpu", "note", f"torch {build} cannot use it", "run GPU stages in the gpu image, or install a CUDA torch"
        )


def models(scene: Scene) -> Iterator[Check]:
    """Look at the models that stages read, and whether those that lack could be fetched."""
    for name in ("backbone", "embedder"):
        if (scene.root / "models" / name / RECORD).is_file():
            yield Check("models", "ok", f"{name} is in models/{name}")
            continue
        section = scene.params.get(name)
        kinds = {source.get("kind") for source in _sources(section)}
        if kinds == {"hub"} and hub_offline(scene.environment):
            yield Check(
                "models",
                "fail",
                f"{name} is not there, and HF_HUB_OFFLINE forbids the hub",
                "HF_HUB_OFFLINE=0 dvc repro fetch_models",
            )
        else:
            yield Check("models", "note", f"{name} is not fetched yet", "dvc repro fetch_models")


def _sources(section: object) -> list[Mapping[str, object]]:
    sources = section.get("sources") if isinstance(section, Mapping) else None
    return [source for source in sources or [] if isinstance(source, Mapping)] if isinstance(sources, list) else []

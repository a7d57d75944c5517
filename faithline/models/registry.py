"""Wheels from the Python package registry, through pip and whatever the user told it (index, proxy, certificates).

The cache is addressed by content: `packages/<sha256>.whl`. An entry is hashed on every use, a damaged one is downloaded
again, and a new one appears by rename from a private folder, so any number of fetches may run at once. pip runs as a
child process that is stopped when it has received nothing for `STALL_S`, however patient its own settings are.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from faithline.models.folder import wrong_digest
from faithline.models.site import Site
from faithline.models.spec import PackageSource
from faithline.pipeline.errors import EnvironmentMismatch, PipelineError, Preempted
from faithline.pipeline.machine import MIB, require_space
from faithline.pipeline.progress import Progress
from faithline.pipeline.records import file_digest

STALL_S = 90.0
"""A download that brings no byte for this long is given up."""
_POLL_S = 0.2
_STALE_S = 86_400.0
_SCRATCH = ".download-"


@dataclass(frozen=True)
class _Reading:
    """One thing that pip's output can mean."""

    pattern: re.Pattern[str]
    error: type[PipelineError]
    what: str
    next_step: str


def _reading(pattern: str, error: type[PipelineError], what: str, next_step: str) -> _Reading:
    return _Reading(re.compile(pattern, re.IGNORECASE), error, what, next_step)


_READINGS = (
    # The order matters: after a failed connection pip says `No matching distribution found` as well.
    _reading(r"No module named pip", EnvironmentMismatch, "pip is not installed in this environment", "`make setup`"),
    _reading(
        r"certificate.verify.failed",
        EnvironmentMismatch,
        "the registry's certificate is not trusted",
        "set PIP_CERT to your CA bundle",
    ),
    _reading(
        r"No space left on device",
        EnvironmentMismatch,
        "no disk space left for the download",
        "free space or set XDG_CACHE_HOME",
    ),
    _reading(
        r"HTTP error 40[137]|40[137] Client Error|ProxyError",
        EnvironmentMismatch,
        "the registry or a proxy refuses",
        "check `pip config list` and its credentials",
    ),
    _reading(
        r"connection broken|ConnectionError|connect(ion)? ?timeout|read ?timeout|timed out|name resolution"
        r"|connection (refused|reset|aborted)|IncompleteRead|HTTP error (429|5\d\d)|(429|5\d\d) (Client|Server) Error",
        Preempted,
        "the package registry cannot be reached",
        "check the network and pip's index (`pip config list`), then run it again",
    ),
    _reading(
        r"No matching distribution found|Could not find a version",
        EnvironmentMismatch,
        "the registry has no such package, version, or wheel for this Python",
        "check the name and version in params.yaml and pip's index (`pip config list`)",
    ),
    _reading("", EnvironmentMismatch, "pip failed", "run `pip download` by hand to see more"),
)


def wheel(source: PackageSource, site: Site) -> Path:
    """Return the path of the package's wheel in the user cache, downloading it if it is not there.

    Raises:
        EnvironmentMismatch: No such package or version, no disk space, no access, or a wrong digest.
        Preempted: The registry cannot be reached or stopped sending.
    """
    folder = site.cache / "packages"
    target = folder / f"{source.sha256}.whl"
    if target.is_file():
        if file_digest(target) == source.sha256:
            site.log.info("package found in the cache", package=source.package, version=source.version)
            return target
        site.log.warning("cached package is damaged, downloading it again", path=target)
        target.unlink(missing_ok=True)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentMismatch(
            f"the cache folder cannot be made: {error.strerror}", where=str(folder), next_step="set XDG_CACHE_HOME"
        ) from None
    _clear_stale(folder)
    # Twice: pip keeps its temporary file until the wheel has been copied to the destination.
    require_space(folder, 2 * source.size_bytes, f"to download {source.package}")
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=folder) as scratch:
        found = _download(source, Path(scratch), site)
        digest = file_digest(found)
        if digest != source.sha256:
            raise wrong_digest(source.sha256, digest, f"{source.package}=={source.version}: {found.name}")
        found.replace(target)
    return target


def _download(source: PackageSource, scratch: Path, site: Site) -> Path:
    site.log.info(
        "downloading package", package=source.package, version=source.version, mib=round(source.size_bytes / MIB, 1)
    )
    work = scratch / "work"  # its growth is the progress
    work.mkdir()
    destination = work / "wheel"
    # --no-cache-dir: pip's own cache would keep a second copy, and would hand out a damaged one again.
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir"]
    command += ["--no-input", "--disable-pip-version-check", "--progress-bar", "off", "--quiet"]
    command += ["--dest", str(destination), f"{source.package}=={source.version}"]
    messages = scratch / "pip.log"
    with messages.open("wb") as log, site.progress(source.size_bytes // MIB, "MiB", "download") as progress:
        code = _run(command, log.fileno(), work, progress, source)
    if code != 0:
        raise explain(source, messages.read_text(encoding="utf-8", errors="replace"))
    wheels = list(destination.glob("*.whl"))
    if len(wheels) != 1:
        raise EnvironmentMismatch(
            f"pip brought {len(wheels)} wheels",
            where=f"{source.package}=={source.version}",
            next_step="check pip's index (`pip config list`)",
        )
    return wheels[0]


def _run(command: list[str], log: int, work: Path, progress: Progress, source: PackageSource) -> int:
    """Run pip, reporting the growth of `work`; pip is gone when this returns or raises."""
    with _started(command, log, os.environ | {"TMPDIR": str(work)}) as process:
        reported, size, since = 0, 0, time.monotonic()
        while True:
            try:
                return process.wait(timeout=_POLL_S)
            except subprocess.TimeoutExpired:
                grown = _size(work)
            if grown > size:
                size, since = grown, time.monotonic()
                done = min(size, source.size_bytes) // MIB
                progress.advance(done - reported)
                reported = done
            elif time.monotonic() - since > STALL_S:
                raise Preempted(
                    f"the download brought nothing for {STALL_S:.0f} s, {size // MIB} MiB had arrived",
                    where=f"{source.package}=={source.version}",
                    next_step="check the network and pip's index and proxy (`pip config list`), then run it again",
                )


@contextmanager
def _started(command: list[str], log: int, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a child in a session of its own (Ctrl-C must reach us first); it and its children are gone on exit."""
    process = subprocess.Popen(
        command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment, start_new_session=True
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def explain(source: PackageSource, messages: str) -> PipelineError:
    """Turn what pip printed into the error it means; credentials in addresses are masked."""
    lines = [line.strip() for line in messages.splitlines() if line.strip()]
    last = re.sub(r"://[^/@\s]+@", "://***@", lines[-1]) if lines else "no message"
    reading = next(reading for reading in _READINGS if reading.pattern.search(messages))
    return reading.error(
        f"{reading.what} (pip: {last})", where=f"{source.package}=={source.version}", next_step=reading.next_step
    )


def _size(folder: Path) -> int:
    total = 0
    for base, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(base) / name).stat().st_size
            except FileNotFoundError:  # pip moved it meanwhile
                continue
    return total


def _clear_stale(folder: Path) -> None:
    """Remove what fetches that were killed outright left a day or more ago."""
    for scratch in folder.glob(f"{_SCRATCH}*"):
        try:
            if time.time() - scratch.stat().st_mtime > _STALE_S:
                shutil.rmtree(scratch, ignore_errors=True)
        except FileNotFoundError:
            continue

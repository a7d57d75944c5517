"""Downloads through the real pip, from a folder of wheels or from a server that misbehaves."""

from __future__ import annotations

import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from faithline.models import registry
from faithline.models.registry import explain, wheel
from faithline.models.site import Site
from faithline.models.spec import PackageSource
from faithline.pipeline.errors import EnvironmentMismatch, PipelineError, Preempted
from faithline.pipeline.records import file_digest

if TYPE_CHECKING:
    from tests.models.conftest import Events

MakeWheel = Callable[..., PackageSource]
FILES = {"tiny_weights/data.txt": b"weights"}


def left_in(site: Site) -> list[str]:
    return sorted(path.name for path in (site.cache / "packages").iterdir())


@pytest.fixture
def deaf_index(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An index that accepts connections and never answers."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
        monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.getsockname()[1]}/simple")
        yield


def test_a_wheel_is_downloaded_once(make_wheel: MakeWheel, only_local_wheels: Path, site: Site, events: Events) -> None:
    source = make_wheel(FILES)
    first = wheel(source, site)
    assert file_digest(first) == source.sha256
    shutil.rmtree(only_local_wheels)
    assert wheel(source, site) == first
    assert events.names() == ["downloading package", "package found in the cache"]
    assert left_in(site) == [first.name]


def test_a_damaged_cache_entry_is_downloaded_again(
    make_wheel: MakeWheel, only_local_wheels: Path, site: Site, events: Events
) -> None:
    source = make_wheel(FILES)
    cached = wheel(source, site)
    data = bytearray(cached.read_bytes())
    data[40] ^= 1
    cached.write_bytes(data)
    assert file_digest(wheel(source, site)) == source.sha256
    assert "cached package is damaged, downloading it again" in events.names()


def test_a_wheel_with_another_digest_is_refused_and_not_kept(
    make_wheel: MakeWheel, only_local_wheels: Path, site: Site
) -> None:
    source = msgspec.structs.replace(make_wheel(FILES), sha256="0" * 64)
    with pytest.raises(EnvironmentMismatch, match=f"{'0' * 64} pinned") as caught:
        wheel(source, site)
    assert "tiny-weights==1.0" in caught.value.where
    assert left_in(site) == []


@pytest.mark.parametrize("change", [{"version": "9.9"}, {"package": "no-such-weights"}])
def test_a_missing_package_or_version_is_an_environment_error(
    change: dict[str, str], make_wheel: MakeWheel, only_local_wheels: Path, site: Site
) -> None:
    source = msgspec.structs.replace(make_wheel(FILES), **change)
    with pytest.raises(EnvironmentMismatch, match="no such package, version"):
        wheel(source, site)
    assert left_in(site) == []


def test_an_index_that_refuses_connections_is_temporary(
    make_wheel: MakeWheel, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = make_wheel(FILES)
    for name, value in {"INDEX_URL": "http://127.0.0.1:9/simple", "RETRIES": "1", "CONFIG_FILE": "/dev/null"}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with pytest.raises(Preempted, match="cannot be reached"):
        wheel(source, site)
    assert left_in(site) == []


def test_a_download_that_stalls_is_given_up_and_pip_is_gone(
    make_wheel: MakeWheel, deaf_index: None, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "STALL_S", 3.0)
    source = make_wheel(FILES)
    start = time.monotonic()
    with pytest.raises(Preempted, match="nothing for 3 s"):
        wheel(source, site)
    assert time.monotonic() - start < 20
    assert left_in(site) == []
    running = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.is_file()]
    assert not any(str(site.cache).encode() in command for command in running)


def test_fetches_at_the_same_time_do_not_disturb_each_other(
    make_wheel: MakeWheel, only_local_wheels: Path, site: Site
) -> None:
    source = make_wheel(FILES)
    results: list[Path] = []
    threads = [threading.Thread(target=lambda: results.append(wheel(source, site))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 3
    assert {file_digest(path) for path in results} == {source.sha256}
    assert left_in(site) == [f"{source.sha256}.whl"]


def test_a_full_disk_is_seen_before_the_download(
    make_wheel: MakeWheel, only_local_wheels: Path, site: Site, events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil._ntuple_diskusage(total=10**12, used=0, free=2**28)  # type: ignore[attr-defined]
    source = msgspec.structs.replace(make_wheel(FILES), size_bytes=2**27)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)
    with pytest.raises(EnvironmentMismatch, match="to download tiny-weights: 321 MiB needed, 256 MiB free"):
        wheel(source, site)
    assert events.names() == []


def test_what_a_killed_fetch_left_is_cleared_after_a_day(
    make_wheel: MakeWheel, only_local_wheels: Path, site: Site
) -> None:
    import os

    old, young = (site.cache / "packages" / f".download-{name}" for name in ("old", "young"))
    for folder in (old, young):
        folder.mkdir(parents=True)
    os.utime(old, (time.time() - 90_000,) * 2)
    wheel(make_wheel(FILES), site)
    assert not old.exists()
    assert young.exists(), "another fetch may be at work there"


SOURCE = PackageSource(package="p", version="1", sha256="0" * 64, size_bytes=1, member="m", dtype=None)
BROKEN = "WARNING: Retrying (Retry(total=0)) after connection broken by '{}': /simple/p/\n"
NONE = "ERROR: No matching distribution found for p==1\n"


@pytest.mark.parametrize(
    ("messages", "kind", "text"),
    [
        ("/usr/bin/python: No module named pip\n", EnvironmentMismatch, "pip is not installed"),
        (BROKEN.format("NewConnectionError(...)") + NONE, Preempted, "cannot be reached"),
        (BROKEN.format("SSLError(SSLEOFError(8, 'EOF'))") + NONE, Preempted, "cannot be reached"),
        (BROKEN.format("SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]'))") + NONE,
         EnvironmentMismatch, "not trusted"),
        ("ERROR: HTTP error 503 while getting https://x/p.whl\n", Preempted, "cannot be reached"),
        ("ERROR: 401 Client Error: Unauthorized for url: https://x/p\n", EnvironmentMismatch, "refuses"),
        (NONE, EnvironmentMismatch, "no such package"),
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n",
         EnvironmentMismatch, "no disk space"),
        ("", EnvironmentMismatch, "no message"),
        ("ERROR: something new\n", EnvironmentMismatch, "something new"),
    ],
)  # fmt: skip
def test_pip_output_is_understood(messages: str, kind: type[PipelineError], text: str) -> None:
    error = explain(SOURCE, messages)
    assert type(error) is kind
    assert text in error.what
    assert error.next_step
    assert error.where == "p==1"


def test_credentials_in_an_index_address_are_masked() -> None:
    error = explain(SOURCE, "ERROR: cannot read https://user:hunter2@host.invalid/simple/p\n")
    assert "hunter2" not in str(error)
    assert "://***@host.invalid" in str(error)


def test_a_cache_that_cannot_be_made_is_an_environment_error(make_wheel: MakeWheel, site: Site, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(EnvironmentMismatch, match="cache folder cannot be made"):
        wheel(make_wheel(FILES), replace(site, cache=tmp_path / "file"))

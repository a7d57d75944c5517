"""Remote sources against real servers on this machine: an HTTP server and moto's S3."""

from __future__ import annotations

import hashlib
import http.server
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest

from faithline.data.remote import Locked, fetch, measure, read_lock, write_lock
from faithline.pipeline.errors import ConfigError, DataInvalid, EnvironmentMismatch, PipelineError, Preempted

BODY = b'{"question": "how many?"}\n' * 400_000  # 10 MB: several chunks
LOCKED = Locked(hashlib.sha256(BODY).hexdigest(), len(BODY))


class Handler(http.server.BaseHTTPRequestHandler):
    requests = 0

    def do_GET(self) -> None:
        type(self).requests += 1
        status = {"/gone": 404, "/denied": 403, "/broken": 503}.get(self.path, 200)
        self.send_response(status)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        if status == 200:
            self.wfile.write(BODY[:1000] if self.path == "/cut" else BODY)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        patch = pytest.MonkeyPatch()
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "testing")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        client = boto3.client("s3")
        client.create_bucket(Bucket="sets")
        client.put_object(Bucket="sets", Key="hotpotqa.jsonl", Body=BODY)
        yield "s3://sets"
        patch.undo()
        process.terminate()


def silent(_: int) -> None:
    pass


def files(cache: Path) -> list[str]:
    return sorted(p.name for p in (cache / "data").iterdir())


def test_http_is_fetched_once_and_verified(server: str, tmp_path: Path) -> None:
    uri = f"{server}/a.jsonl"
    received: list[int] = []
    path = fetch(uri, {uri: LOCKED}, tmp_path, received.append)
    assert path.read_bytes() == BODY
    assert sum(received) == len(BODY)
    before = Handler.requests
    assert fetch(uri, {uri: LOCKED}, tmp_path, silent) == path
    assert Handler.requests == before
    assert files(tmp_path) == [LOCKED.sha256]


def test_a_damaged_cache_entry_is_fetched_again(server: str, tmp_path: Path) -> None:
    uri = f"{server}/a.jsonl"
    path = fetch(uri, {uri: LOCKED}, tmp_path, silent)
    path.write_bytes(BODY[:-1] + b"x")
    assert fetch(uri, {uri: LOCKED}, tmp_path, silent).read_bytes() == BODY


def test_s3_is_fetched_and_measured(bucket: str, tmp_path: Path) -> None:
    uri = f"{bucket}/hotpotqa.jsonl"
    assert measure(uri, tmp_path, silent) == LOCKED
    assert fetch(uri, {uri: LOCKED}, tmp_path, silent).read_bytes() == BODY
    with pytest.raises(DataInvalid, match="not there"):
        measure(f"{bucket}/none.jsonl", tmp_path, silent)


@pytest.mark.parametrize(
    "locked",
    [
        Locked("0" * 64, len(BODY)),
        Locked(LOCKED.sha256, len(BODY) - 1),
        Locked(LOCKED.sha256, len(BODY) + 1),
    ],
)
def test_changed_bytes_are_refused_and_not_kept_under_the_locked_name(
    server: str, tmp_path: Path, locked: Locked
) -> None:
    uri = f"{server}/a.jsonl"
    with pytest.raises(DataInvalid, match="has changed"):
        fetch(uri, {uri: locked}, tmp_path, silent)
    for name in files(tmp_path):
        assert hashlib.sha256((tmp_path / "data" / name).read_bytes()).hexdigest() == name


@pytest.mark.parametrize(
    ("path", "error"),
    [("/gone", DataInvalid), ("/denied", EnvironmentMismatch), ("/broken", Preempted), ("/cut", Preempted)],
)
def test_server_faults(server: str, tmp_path: Path, path: str, error: type[PipelineError]) -> None:
    uri = f"{server}{path}"
    with pytest.raises(error) as caught:
        fetch(uri, {uri: LOCKED}, tmp_path, silent)
    assert uri in caught.value.where
    assert files(tmp_path) == []


def test_nobody_listening_is_temporary(tmp_path: Path) -> None:
    uri = f"http://127.0.0.1:{free_port()}/a"
    with pytest.raises(Preempted):
        fetch(uri, {uri: LOCKED}, tmp_path, silent)


@pytest.mark.parametrize(
    "uri",
    [
        "https://unlocked.invalid/x",
        "ftp://host/x",
        "http://elsewhere.invalid/x",
        "hf://datasets/a/b@main/x.json",
        "hf://datasets/a/b/x.json",
    ],
)
def test_what_cannot_be_pinned_is_a_configuration_error(tmp_path: Path, uri: str) -> None:
    lock = {} if "unlocked" in uri else {uri: LOCKED}
    with pytest.raises(ConfigError):
        fetch(uri, lock, tmp_path, silent)


def test_offline_hub_is_refused_at_once(tmp_path: Path) -> None:
    uri = f"hf://datasets/a/b@{'0' * 40}/x.json"
    start = time.monotonic()
    with pytest.raises(EnvironmentMismatch, match="HF_HUB_OFFLINE"):
        fetch(uri, {uri: LOCKED}, tmp_path, silent)
    assert time.monotonic() - start < 5


def test_lock_file_round_trip_and_errors(tmp_path: Path) -> None:
    path = tmp_path / "sources.lock.json"
    with pytest.raises(ConfigError, match="not found"):
        read_lock(path)
    write_lock(path, {"s3://b/k": LOCKED})
    assert read_lock(path) == {"s3://b/k": LOCKED}
    path.write_text('{"s3://b/k": {"sha256": "abc", "bytes": 1}}')
    with pytest.raises(ConfigError, match="broken"):
        read_lock(path)

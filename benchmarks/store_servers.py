"""S3 servers for tests and benchmarks: moto or rclone in a process of their own, behind a proxy that spoils requests.

The proxy answers 500 or 503 (SlowDown), waits, breaks an answer off, breaks a request off, or swallows the answer of a
request that went through, each at random. A small pipeline to run against them is here too.
"""

from __future__ import annotations

import collections
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BUCKET = "faults"
KEYS = {"AWS_ACCESS_KEY_ID": "campaign", "AWS_SECRET_ACCESS_KEY": "campaign-secret", "AWS_DEFAULT_REGION": "us-east-1"}
FAULTS = ("500", "503", "slow", "torn answer", "torn request", "lost answer")
DVC_YAML = """\
stages:
  first:
    cmd: python code/first.py
    deps: [code/first.py, raw]
    params: [seed, noisy]
    outs: [data/first]
    metrics: [{metrics/first.json: {cache: false}}]
  second:
    cmd: python code/second.py
    deps: [code/second.py, data/first]
    params: [size]
    outs: [data/second.bin]
  third:
    cmd: python code/third.py
    deps: [code/third.py, data/first/a.txt, data/second.bin, metrics/first.json]
    outs: [data/third]
    metrics: [{metrics/third.json: {cache: false}}]
"""
CODE = {
    "first": """\
import json, os, pathlib
params = dict(line.split(": ") for line in pathlib.Path("params.yaml").read_text().splitlines())
out = pathlib.Path("data/first")
out.mkdir(parents=True, exist_ok=True)
noise = os.urandom(4).hex() if params["noisy"] == "true" else ""
for name in "abc":
    (out / f"{name}.txt").write_text(name * int(params["seed"]) + noise + pathlib.Path("raw/in.txt").read_text())
pathlib.Path("metrics").mkdir(exist_ok=True)
pathlib.Path("metrics/first.json").write_text(json.dumps({"seed": int(params["seed"])}))
""",
    "second": """\
import pathlib
params = dict(line.split(": ") for line in pathlib.Path("params.yaml").read_text().splitlines())
data = b"".join(path.read_bytes() for path in sorted(pathlib.Path("data/first").iterdir()))
pathlib.Path("data/second.bin").write_bytes(data * int(params["size"]))
""",
    "third": """\
import json, pathlib
out = pathlib.Path("data/third")
out.mkdir(parents=True, exist_ok=True)
seed = json.loads(pathlib.Path("metrics/first.json").read_text())["seed"]
(out / "x").write_text(pathlib.Path("data/first/a.txt").read_text() + str(seed))
size = pathlib.Path("data/second.bin").stat().st_size
pathlib.Path("metrics/third.json").write_text(json.dumps({"bytes": size}))
""",
}
STAGES = tuple(CODE)


def make_project(folder: Path, *, seed: int = 7, size: int = 2000, noisy: bool = False) -> Path:
    """Write the pipeline of three stages."""
    for name, text in CODE.items():
        path = folder / "code" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "raw").mkdir()
    (folder / "raw" / "in.txt").write_text("hello\n", encoding="utf-8")
    (folder / "dvc.yaml").write_text(DVC_YAML, encoding="utf-8")
    (folder / "params.yaml").write_text(f"seed: {seed}\nsize: {size}\nnoisy: {str(noisy).lower()}\n", encoding="utf-8")
    (folder / ".dvc").mkdir()
    (folder / ".dvc" / "config").write_text("[core]\n    analytics = false\n    no_scm = true\n", encoding="utf-8")
    (folder / ".dvcignore").touch()
    return folder


class Proxy(BaseHTTPRequestHandler):
    """Passes requests on to a server and spoils some of them; `target`, `rate` and `dice` are set on a subclass."""

    protocol_version = "HTTP/1.1"
    target: tuple[str, int]
    rate: float
    dice: random.Random
    seen: collections.Counter[str]

    def handle_any(self) -> None:
        """Pass one request on, or spoil it."""
        fault = self.dice.choice(FAULTS) if self.dice.random() < self.rate else ""
        if fault:
            self.seen[fault] += 1
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if fault in {"500", "503"}:
            code = "SlowDown" if fault == "503" else "InternalError"
            self.answer(int(fault), {}, f"<Error><Code>{code}</Code><Message>injected</Message></Error>".encode())
            return
        if fault == "slow":
            time.sleep(self.dice.uniform(0.1, 1.0))
        self.close_connection = fault in {"torn answer", "torn request", "lost answer"}
        upstream = http.client.HTTPConnection(*self.target, timeout=30)
        try:
            if fault == "torn request" and len(body) > 1:
                self.send_half(upstream, body)
                return
            upstream.request(self.command, self.path, body, dict(self.headers.items()))
            response = upstream.getresponse()
            content = response.read()
        finally:
            upstream.close()
        if fault != "lost answer":
            headers = {k: v for k, v in response.getheaders() if k.lower() not in {"connection", "transfer-encoding"}}
            self.answer(response.status, headers, content, torn=fault == "torn answer")

    def send_half(self, upstream: http.client.HTTPConnection, body: bytes) -> None:
        """Send a request up to the middle of its body, then hang up on the server and on the client."""
        upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            upstream.putheader(name, value)
        upstream.endheaders(body[: len(body) // 2])

    def answer(self, status: int, headers: dict[str, str], content: bytes, *, torn: bool = False) -> None:
        """Send an answer, half of its body only if it is to be torn."""
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() != "content-length" or self.command == "HEAD":
                self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content[: len(content) // 2] if torn else content)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_any  # noqa: N815 - the names are http.server's


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that are killed hang up; that is what this is about."""


def serve_proxy(port: int, target: int, rate: float, seed: int) -> None:
    """Serve until told to stop, then say what was spoilt."""
    seen: collections.Counter[str] = collections.Counter()
    members = {"target": ("127.0.0.1", target), "rate": rate, "dice": random.Random(seed), "seen": seen}
    server = _Server(("127.0.0.1", port), type("Spoiling", (Proxy,), members))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        server.serve_forever()
    finally:
        print(json.dumps(seen), flush=True)


def free_port() -> int:
    """Find a port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int) -> None:
    for _ in range(300):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise TimeoutError(f"no server on port {port}")


@contextmanager
def s3_server(kind: str, folder: Path) -> Iterator[int]:
    """Run `moto`, or `rclone=PATH`'s S3 server on `folder`; yields its port."""
    port = free_port()
    if kind == "moto":
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    else:
        (folder / BUCKET).mkdir(parents=True)
        auth = f"{KEYS['AWS_ACCESS_KEY_ID']},{KEYS['AWS_SECRET_ACCESS_KEY']}"
        command = [kind.partition("=")[2], "serve", "s3", "--addr", f"127.0.0.1:{port}", "--auth-key", auth]
        command += ["--vfs-cache-mode", "off", str(folder)]
    with _process(command, Path(os.devnull)):
        _wait_for(port)
        if kind == "moto":
            client(port).create_bucket(Bucket=BUCKET)
        yield port


@contextmanager
def proxy(target: int, *, rate: float, seed: int, report: Path) -> Iterator[int]:
    """Run the spoiling proxy in a process of its own; yields its port. It tells in `report` what it spoilt."""
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.store_servers", str(port), str(target), str(rate), str(seed)]
    with _process(command, report):
        _wait_for(port)
        yield port


@contextmanager
def _process(command: list[str], log: Path) -> Iterator[None]:
    with log.open("wb") as sink:
        process = subprocess.Popen(command, cwd=ROOT, stdout=sink, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)


def client(port: int) -> Any:
    """Return a plain S3 client of the server itself."""
    import boto3
    from botocore.config import Config

    names = {"aws_access_key_id": KEYS["AWS_ACCESS_KEY_ID"], "aws_secret_access_key": KEYS["AWS_SECRET_ACCESS_KEY"]}
    config = Config(s3={"addressing_style": "path"})
    return boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1", config=config, **names)


if __name__ == "__main__":
    serve_proxy(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))

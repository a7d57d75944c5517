"""Fault campaign of cluster runs: killed runners, a store that answers badly, the same stage started twice.

    python -m benchmarks.store_faults [--runs 200] [--server moto|rclone=PATH] [--rate 0.04] [--workers 2] [--seed 1]

Every run is a pipeline of three stages. Each stage is tried again until it ends with 0, as an orchestrator would: a try
may be killed (kill -9) or told to stop (SIGTERM) at a random moment, or have a twin that starts at the same time. All
talk to the server through a proxy that, at random, answers 500 or 503 (SlowDown), waits, breaks an answer off, breaks a
request off, or swallows the answer of a request that went through. Afterwards, without the proxy: every run must be
complete, its lock must be that of a plain `dvc repro` of the same settings, every object must have the content its name
says, and no lease may outlive its lifetime. A fifth of the runs have a stage with another result each time; there, the
stages must fit together. Tries are forked from a process that has loaded everything, so that thousands take minutes.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import http.client
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUCKET = "faults"
LEASE_S = 2.0
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
        print("faults injected: " + ", ".join(f"{name} {seen[name]}" for name in FAULTS), flush=True)


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
    with _process(command, quiet=True):
        _wait_for(port)
        if kind == "moto":
            client(port).create_bucket(Bucket=BUCKET)
        yield port


@contextmanager
def proxy(target: int, *, rate: float, seed: int) -> Iterator[int]:
    """Run the spoiling proxy in a process of its own; yields its port."""
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.store_faults", "--proxy", str(port), str(target), str(rate), str(seed)]
    with _process(command):
        _wait_for(port)
        yield port


@contextmanager
def _process(command: list[str], *, quiet: bool = False) -> Iterator[None]:
    sink = subprocess.DEVNULL if quiet else None
    process = subprocess.Popen(command, cwd=ROOT, stdout=sink, stderr=sink)
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)


def client(port: int):
    """Return a plain S3 client of the server itself."""
    import boto3
    from botocore.config import Config

    names = {"aws_access_key_id": KEYS["AWS_ACCESS_KEY_ID"], "aws_secret_access_key": KEYS["AWS_SECRET_ACCESS_KEY"]}
    config = Config(s3={"addressing_style": "path"})
    return boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1", config=config, **names)


class Campaign:
    """A series of runs against one proxy."""

    def __init__(self, folder: Path, proxy_port: int, server_port: int, seed: int) -> None:
        self.folder = folder
        self.dice = random.Random(seed)
        self.server_port = server_port
        self.store = f"s3://{BUCKET}/campaign"
        self.codes: collections.Counter[str] = collections.Counter()
        self.typical_s = 1.0
        self.endpoint = f"http://127.0.0.1:{proxy_port}"
        self.noted: dict[str, Path] = {}

    def start(self, project: Path, stage: str, run_id: str) -> int:
        """Fork one try and return its process id."""
        pid = os.fork()
        if pid:
            return pid
        code = 1
        try:
            os.environ.update(KEYS, AWS_ENDPOINT_URL=self.endpoint, DVC_NO_ANALYTICS="1")
            log = os.open(self.folder / f"{run_id}-{stage}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(log, 1)
            os.dup2(log, 2)
            from faithline import cli

            arguments = ["--root", str(project), "run-stage", stage, "--run-id", run_id, "--store", self.store]
            arguments += ["--workspace", str(self.folder / "work"), "--lease-s", str(LEASE_S), "--wait-s", "60"]
            code = cli.main(arguments)
        except BaseException:  # noqa: BLE001 - a forked try must end here
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def stage(self, project: Path, stage: str, run_id: str) -> None:
        """Try a stage until it ends well."""
        for _ in range(25):
            begin = time.monotonic()
            pids = [self.start(project, stage, run_id) for _ in range(1 + (self.dice.random() < 0.15))]
            fate = self.dice.random()
            if fate < 0.55:
                time.sleep(self.dice.uniform(0, 1.2 * self.typical_s))
                with suppress(ProcessLookupError):
                    os.kill(pids[0], signal.SIGKILL if fate < 0.4 else signal.SIGTERM)
            ends = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
            for code in ends:
                self.codes[f"{stage}: {code}"] += 1
                # A try that is told to stop before it listens ends as any process does.
                if code not in {0, 75, -signal.SIGKILL, -signal.SIGTERM}:
                    raise AssertionError(f"{run_id} {stage} ended with {code}: {self.folder / f'{run_id}-{stage}.log'}")
            if 0 in ends:
                if fate >= 0.55 and len(ends) == 1:
                    self.typical_s = 0.9 * self.typical_s + 0.1 * (time.monotonic() - begin)
                return
        raise AssertionError(f"{run_id} {stage} did not end well in 25 tries")

    def run(self, number: int) -> None:
        """Do one run and check it."""
        noisy = number % 5 == 4
        seed = number % 8
        run_id = f"run-{os.getpid()}-{number}"
        project = make_project(self.folder / run_id, seed=seed, noisy=noisy)
        for stage in STAGES:
            self.stage(project, stage, run_id)
        self.check(project, run_id, None if noisy else seed)
        shutil.rmtree(project)

    def check(self, project: Path, run_id: str, seed: int | None) -> None:
        """Adopt a run past the proxy; its lock must be that of `dvc repro`."""
        from faithline.runs.adopt import adopt
        from faithline.store.objects import open_store

        os.environ.update(KEYS, AWS_ENDPOINT_URL=f"http://127.0.0.1:{self.server_port}")
        adopt(project, open_store(self.store), run_id, with_params=False)
        if seed is not None:
            ours, expected = (project / "dvc.lock").read_bytes(), self.expected(seed)
            if ours != (expected / "dvc.lock").read_bytes():
                raise AssertionError(f"{run_id}: dvc.lock differs from dvc repro's: {project}")
            for name in ("first", "third"):
                if (project / f"metrics/{name}.json").read_bytes() != (expected / f"metrics/{name}.json").read_bytes():
                    raise AssertionError(f"{run_id}: metrics/{name}.json differs")

    def expected(self, seed: int) -> Path:
        """Return a project with these settings after a plain `dvc repro`."""
        if seed not in self.noted:
            folder = make_project(self.folder / f"expected-{os.getpid()}-{seed}", seed=seed)
            subprocess.run([sys.executable, "-m", "dvc", "repro", "-q"], cwd=folder, check=True, timeout=300)
            self.noted[seed] = folder
        return self.noted[seed]


def check_store(server_port: int) -> tuple[int, int]:
    """Check all that is in the store past the proxy; returns how many objects and how many expired leases there are."""
    s3 = client(server_port)
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
    keys = [entry["Key"] for page in pages for entry in page.get("Contents", [])]
    objects = [key for key in keys if "/dvc/files/md5/" in key]
    for key in objects:
        content = s3.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        name = "".join(key.split("/")[-2:]).removesuffix(".dir")
        if hashlib.md5(content).hexdigest() != name:
            raise AssertionError(f"the content of {key} is not what its name says")
    leases = [key for key in keys if key.endswith("/lease.json")]
    time.sleep(LEASE_S + 2)
    os.environ.update(KEYS, AWS_ENDPOINT_URL=f"http://127.0.0.1:{server_port}")
    from faithline.runs.lease import read_holder
    from faithline.store.objects import open_store

    store = open_store(f"s3://{BUCKET}")
    for key in leases:
        holder = read_holder(store, key)
        if holder is not None and not holder.expired:
            raise AssertionError(f"{key} is still held by {holder.owner}")
    return len(objects), len(leases)


def campaign(folder: Path, server: str, *, runs: int, rate: float, workers: int, seed: int) -> collections.Counter[str]:
    """Do all runs and check everything; returns how the tries ended."""
    import boto3.s3.transfer  # noqa: F401 - loaded once, before tries are forked

    import faithline.runs.run_stage  # noqa: F401
    from faithline.runs.project import Project

    Project(make_project(folder / "warm-up"), cache=None, private=True).close()
    total: collections.Counter[str] = collections.Counter()
    with s3_server(server, folder / "server") as port, proxy(port, rate=rate, seed=seed) as spoiling:
        pids = {}
        for worker in range(workers):
            report = folder / f"worker-{worker}"
            pid = os.fork()
            if not pid:
                code = 1
                try:
                    part = Campaign(folder, spoiling, port, seed * 1000 + worker)
                    for number in range(worker, runs, workers):
                        part.run(number)
                        report.write_text("\n".join(f"{count} {name}" for name, count in part.codes.items()))
                    code = 0
                except BaseException:  # noqa: BLE001 - a forked worker must end here
                    traceback.print_exc()
                finally:
                    sys.stderr.flush()
                    os._exit(code)
            pids[pid] = report
        ends = {pid: os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids}
        if any(ends.values()):
            raise AssertionError(f"a worker failed: logs in {folder}")
        objects, leases = check_store(port)
        for report in pids.values():
            for line in report.read_text().splitlines():
                count, _, name = line.partition(" ")
                total[name] += int(count)
    left = [path for path in (folder / "work").iterdir() if not path.name.startswith(".run-") or path.is_dir()]
    print(f"{runs} runs on {server.partition('=')[0]}: all complete and right; {objects} objects checked, ", end="")
    print(f"{leases} leases left by killed tries, all expired; {len(left)} workspaces left by killed tries")
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--server", default="moto", help="moto, or rclone=PATH of the rclone program")
    parser.add_argument("--rate", type=float, default=0.04, help="share of requests that are spoilt")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--proxy", nargs=4, metavar=("PORT", "TARGET", "RATE", "SEED"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.proxy:
        port, target, rate, seed = arguments.proxy
        serve_proxy(int(port), int(target), float(rate), int(seed))
        return
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        ends = campaign(
            Path(folder),
            arguments.server,
            runs=arguments.runs,
            rate=arguments.rate,
            workers=arguments.workers,
            seed=arguments.seed,
        )
    print(f"tries: {', '.join(f'{name} x {count}' for name, count in sorted(ends.items()))}")
    print(f"{time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()

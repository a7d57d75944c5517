"""The hub source, with the hub's real client against a server of ours that speaks the parts it uses."""

from __future__ import annotations

import hashlib
import http.server
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from faithline.models.folder import listing

REPO, REVISION = "org/tiny", "0123456789abcdef0123456789abcdef01234567"
ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Hub:
    """What the server holds and what it was asked."""

    files: dict[str, bytes]
    address: str = ""
    status: int = 200
    code: str = ""
    asked: list[str] = field(default_factory=list)
    stated: dict[str, str] = field(default_factory=dict)
    """Digests stated instead of the true ones."""
    cut: set[str] = field(default_factory=set)
    """Files whose transfer breaks off half-way, every time."""

    def tree(self) -> list[dict[str, object]]:
        entries: list[dict[str, object]] = []
        for name, content in self.files.items():
            oid = hashlib.sha1(content).hexdigest()
            entry: dict[str, object] = {"type": "file", "path": name, "size": len(content), "oid": oid}
            if name.endswith((".safetensors", ".bin")):
                sha256 = self.stated.get(name, hashlib.sha256(content).hexdigest())
                entry["lfs"] = {"oid": sha256, "size": len(content), "pointerSize": 100}
            entries.append(entry)
        return entries


class Handler(http.server.BaseHTTPRequestHandler):
    hub: Hub

    def log_message(self, *_arguments: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        path = urlsplit(self.path).path
        self.hub.asked.append(path)
        headers = {"X-Repo-Commit": REVISION}
        status, content = 404, b"{}"
        if self.hub.status != 200:
            status, headers["X-Error-Code"] = self.hub.status, self.hub.code
        elif path == f"/api/models/{REPO}/tree/{REVISION}":
            status, content = 200, json.dumps(self.hub.tree()).encode()
        elif path.startswith(f"/{REPO}/resolve/{REVISION}/"):
            name = path.split("/", 5)[5]
            status, content = 200, self.hub.files[name]
            headers["ETag"] = f'"{hashlib.sha256(content).hexdigest()}"'
        else:
            headers["X-Error-Code"] = "RevisionNotFound"
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(key, value)
        self.end_headers()
        if body:
            self.wfile.write(content[: len(content) // 2] if Path(path).name in self.hub.cut else content)


@pytest.fixture
def hub(tiny_backbone: Path) -> Iterator[Hub]:
    files = {name: (tiny_backbone / name).read_bytes() for name in listing(tiny_backbone)}
    hub = Hub(files | {"pytorch_model.bin": b"never asked for", "onnx/model.onnx": b"x", "modeling_custom.py": b"x"})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("OneHub", (Handler,), {"hub": hub}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    hub.address = f"http://127.0.0.1:{server.server_port}"
    yield hub
    server.shutdown()
    server.server_close()


Fetch = Callable[..., subprocess.CompletedProcess[str]]
PROGRAM = """
import json, sys
from pathlib import Path
from faithline.models.resolve import fetch
from faithline.models.site import Site
from faithline.models.spec import HubSource, ModelSpec
from faithline.pipeline.errors import PipelineError
from faithline.pipeline.log import Logger
from faithline.pipeline.progress import progress
root, out, offline, source = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "1", json.loads(sys.argv[4])
log = Logger("test")
site = Site(root, root / "cache", offline, log, lambda total, unit, label: progress(total, unit, label, log))
try:
    print(fetch(ModelSpec(name="tiny", sources=[HubSource(**source)]), out, site).source)
except PipelineError as error:
    print(error, file=sys.stderr)
    sys.exit(int(error.exit_code))
"""


@pytest.fixture
def run_fetch(tmp_path: Path, hub: Hub) -> Fetch:
    """Fetch in a process of its own: the hub's client reads its environment once, at import."""

    def run(
        *, offline: bool = False, address: str | None = None, out: str = "out", **change: object
    ) -> subprocess.CompletedProcess[str]:
        (tmp_path / out).mkdir()
        source = {"repo": REPO, "revision": REVISION, "digests": {}} | change
        arguments = [str(tmp_path), str(tmp_path / out), "1" if offline else "0", json.dumps(source)]
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
            "HF_HOME": str(tmp_path / "hf"),
            "HF_ENDPOINT": address or hub.address,
            "HF_HUB_OFFLINE": "1" if offline else "0",
            "HF_HUB_DISABLE_TELEMETRY": "1",
        }
        return subprocess.run(
            [sys.executable, "-c", PROGRAM, *arguments],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


def test_a_pinned_revision_is_fetched_and_then_read_offline(
    run_fetch: Fetch, hub: Hub, tiny_backbone: Path, tmp_path: Path
) -> None:
    done = run_fetch()
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == f"hub {REPO}@{REVISION}"
    assert listing(tmp_path / "out") == listing(tiny_backbone)
    for name in listing(tiny_backbone):
        assert (tmp_path / "out" / name).read_bytes() == hub.files[name]
    assert not any(path.endswith((".bin", ".onnx", ".py")) for path in hub.asked)
    hub.asked.clear()
    again = run_fetch(offline=True, out="again")
    assert again.returncode == 0, again.stderr
    assert hub.asked == []
    assert listing(tmp_path / "again") == listing(tiny_backbone)


def test_pickled_weights_alone_are_refused_before_any_download(run_fetch: Fetch, hub: Hub) -> None:
    del hub.files["model.safetensors"]
    done = run_fetch()
    assert done.returncode == 40
    assert "only pickled weights (pytorch_model.bin)" in done.stderr
    assert all("/tree/" in path for path in hub.asked)


@pytest.mark.parametrize("pinned", [True, False], ids=["pinned", "stated by the hub"])
def test_other_bytes_than_the_digest_says_are_refused(
    run_fetch: Fetch, hub: Hub, tmp_path: Path, *, pinned: bool
) -> None:
    if not pinned:
        hub.stated["model.safetensors"] = "0" * 64
    done = run_fetch(digests={"model.safetensors": "0" * 64} if pinned else {})
    assert done.returncode == 40
    assert "wrong SHA-256" in done.stderr
    assert not (tmp_path / "out" / "model.safetensors").exists()


@pytest.mark.parametrize(
    ("status", "code", "exit_code", "text"),
    [
        (404, "RevisionNotFound", 40, "no such repository or revision"),
        (404, "RepoNotFound", 40, "no such repository or revision"),
        (403, "GatedRepo", 40, "licence agreement"),
        (401, "", 40, "status 401"),
        (500, "", 75, "status 500"),
    ],
)
def test_refusals_are_told_apart(status: int, code: str, exit_code: int, text: str, run_fetch: Fetch, hub: Hub) -> None:
    hub.status, hub.code = status, code
    done = run_fetch()
    assert (done.returncode, text in done.stderr) == (exit_code, True), done.stderr
    assert "next:" in done.stderr


def test_a_transfer_that_breaks_off_is_temporary(run_fetch: Fetch, hub: Hub, tmp_path: Path) -> None:
    hub.cut.add("model.safetensors")
    done = run_fetch()
    assert done.returncode == 75, done.stderr
    assert not (tmp_path / "out" / "model.safetensors").exists()


def test_a_hub_that_cannot_be_reached_is_temporary(run_fetch: Fetch) -> None:
    done = run_fetch(address="http://127.0.0.1:9")
    assert done.returncode == 75, done.stderr
    assert "cannot be reached" in done.stderr

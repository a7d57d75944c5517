"""Remote sources end to end: `faithline data lock`, then the stage, against real servers on this machine."""

from __future__ import annotations

import functools
import http.server
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pyarrow.parquet as pq
import pytest

from faithline.cli import main

SHARES = {"train": 0.7, "validation": 0.1, "test": 0.2}


class Quiet(http.server.SimpleHTTPRequestHandler):
    requests: list[str]

    def do_GET(self) -> None:
        self.requests.append(self.path)
        super().do_GET()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str, list[str]]]:
    """A served folder, its address, and the paths asked for."""
    folder = tmp_path / "served"
    folder.mkdir()
    requests: list[str] = []
    handler = type("Handler", (Quiet,), {"requests": requests})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_port}", requests
        server.shutdown()


@pytest.fixture
def project(make_project: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Path]:
    """A project with these sources and a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def make(*sources: dict[str, Any]) -> Path:
        entries = [{"limit": None, "shares": SHARES} | source for source in sources]
        root = make_project({"prepare_data": {"root": "data/raw/sample", "sources": entries, "on_invalid": "fail"}})
        (root / "data/raw/sample").mkdir(parents=True)
        return root

    return make


def rows(count: int) -> list[dict[str, Any]]:
    return [
        {"_id": f"q{number}", "question": "Who?", "answer": "Ada", "context": [["T", [f"Text {number}."]]]}
        for number in range(count)
    ]


def lock(root: Path) -> int:
    return main(["--root", str(root), "data", "lock"])


def test_lock_then_prepare_then_nothing_is_fetched_again(
    served: tuple[Path, str, list[str]],
    project: Callable[..., Path],
    run_component: Callable[..., Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder, address, requests = served
    (folder / "h.json").write_text(json.dumps(rows(5)))
    (folder / "a.jsonl").write_text(json.dumps({"pmid": 1, "title": "Aspirin.", "abstract": "It inhibits COX."}))
    question = {"id": "b", "body": "What?", "type": "summary", "documents": ["http://www.ncbi.nlm.nih.gov/pubmed/1"]}
    root = project(
        {"name": "h", "format": "hotpotqa", "path": f"{address}/h.json"},
        {"name": "b", "format": "bioasq", "path": "{root}/b.json", "documents": f"{address}/a.jsonl"},
    )
    (root / "data/raw/sample/b.json").write_text(json.dumps({"questions": [question | {"ideal_answer": "A drug."}]}))
    assert lock(root) == 0
    assert "2 remote files" in capsys.readouterr().out
    locked = json.loads((root / "sources.lock.json").read_text())
    assert list(locked) == sorted(locked) == sorted([f"{address}/a.jsonl", f"{address}/h.json"])
    asked = len(requests)
    done = run_component(root, "prepare_data")
    assert done.returncode == 0, done.stderr
    assert len(requests) == asked  # the lock command left the files in the cache
    sources = json.loads((root / "data/prepared/sources.json").read_text())
    assert sources["h"]["sha256"] == {"h.json": locked[f"{address}/h.json"]["sha256"]}
    assert (sources["h"]["kept"], sources["b"]["passages"]["kept"]) == (5, 1)
    assert "It inhibits COX." in pq.read_table(root / "data/prepared/documents.parquet")["text"].to_pylist()
    assert "faithline-sources-" not in (root / "data/prepared/sources.json").read_text()


def test_ragtruth_is_two_files(
    served: tuple[Path, str, list[str]], project: Callable[..., Path], run_component: Callable[..., Any]
) -> None:
    folder, address, _ = served
    source = {"source_id": "1", "task_type": "Summary", "source_info": "Ada opened a plant."}
    response = {"id": "0", "source_id": "1", "model": "m", "labels": [], "quality": "good", "response": "A plant."}
    (folder / "source_info.jsonl").write_text(json.dumps(source))
    (folder / "response.jsonl").write_text(json.dumps(response))
    (folder / "h.json").write_text(json.dumps(rows(1)))
    root = project(
        {"name": "r", "format": "ragtruth", "path": address + "/"},
        {"name": "h", "format": "hotpotqa", "path": f"{address}/h.json"},
    )
    assert lock(root) == 0
    done = run_component(root, "prepare_data")
    assert done.returncode == 0, done.stderr
    assert pq.read_metadata(root / "data/prepared/responses.parquet").num_rows == 1


def test_without_an_entry_nothing_is_fetched(
    served: tuple[Path, str, list[str]], project: Callable[..., Path], run_component: Callable[..., Any]
) -> None:
    folder, address, requests = served
    (folder / "h.json").write_text(json.dumps(rows(1)))
    root = project({"name": "h", "format": "hotpotqa", "path": f"{address}/h.json"})
    done = run_component(root, "prepare_data")
    assert (done.returncode, requests) == (40, [])
    assert "no checksum" in done.stderr
    assert "faithline data lock" in done.stderr


def test_changed_missing_and_bad_files_are_named_by_their_address(
    served: tuple[Path, str, list[str]],
    project: Callable[..., Path],
    run_component: Callable[..., Any],
    tmp_path: Path,
) -> None:
    folder, address, _ = served
    (folder / "h.json").write_text(json.dumps([*rows(1), {"_id": "bad", "question": 5, "context": []}]))
    root = project({"name": "h", "format": "hotpotqa", "path": f"{address}/h.json"})
    assert lock(root) == 0
    done = run_component(root, "prepare_data")
    assert (done.returncode, f"where: {address}/h.json[1]" in done.stderr) == (20, True), done.stderr

    (tmp_path / "cache/faithline/data").rename(tmp_path / "away")
    (folder / "h.json").write_text(json.dumps(rows(9)))
    done = run_component(root, "prepare_data")
    assert (done.returncode, "the source has changed" in done.stderr) == (20, True), done.stderr
    assert f"{address}/h.json" in done.stderr

    (folder / "h.json").unlink()
    done = run_component(root, "prepare_data")
    assert (done.returncode, "not there (404)" in done.stderr) == (20, True), done.stderr
    assert not (root / "data/prepared").exists()


def test_lock_fails_whole_and_keeps_other_entries(
    served: tuple[Path, str, list[str]], project: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, address, _ = served
    (folder / "h.json").write_text(json.dumps(rows(1)))
    other = {"https://elsewhere.example/x": {"bytes": 1, "sha256": "0" * 64}}
    root = project({"name": "h", "format": "hotpotqa", "path": f"{address}/h.json"})
    (root / "sources.lock.json").write_text(json.dumps(other))
    assert lock(root) == 0
    assert json.loads((root / "sources.lock.json").read_text()).keys() == {*other, f"{address}/h.json"}
    assert "new  " in capsys.readouterr().out
    (folder / "h.json").write_text(json.dumps(rows(2)))
    assert lock(root) == 0
    assert "CHANGED" in capsys.readouterr().out
    (folder / "h.json").unlink()
    before = (root / "sources.lock.json").read_bytes()
    assert lock(root) == 20
    assert f"{address}/h.json" in capsys.readouterr().err
    assert (root / "sources.lock.json").read_bytes() == before


def test_lock_without_remote_sources_or_settings(
    project: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    root = project({"name": "h", "format": "hotpotqa", "path": "{root}/h.json"})
    assert lock(root) == 0
    assert "no remote source" in capsys.readouterr().out
    assert json.loads((root / "sources.lock.json").read_text()) == {}
    (root / "params.yaml").write_text("prepare_data: {sources: 5}\n")
    assert lock(root) == 40


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        client = boto3.client("s3")
        client.create_bucket(Bucket="sets")
        client.put_object(Bucket="sets", Key="dev/h.json", Body=json.dumps(rows(3)).encode())
        yield "s3://sets"
        process.terminate()


def test_s3(bucket: str, project: Callable[..., Path], run_component: Callable[..., Any]) -> None:
    root = project({"name": "h", "format": "hotpotqa", "path": f"{bucket}/dev/h.json"})
    assert lock(root) == 0
    done = run_component(root, "prepare_data")
    assert done.returncode == 0, done.stderr
    assert json.loads((root / "metrics/prepare_data.json").read_text())["h_questions"] == 3

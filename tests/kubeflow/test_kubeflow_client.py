"""KFP's own client over real HTTP against a small server that speaks the calls it makes (REST v2beta1)."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from faithline.cluster.tombstone import guarded
from faithline.kubeflow.client import RunState, StageState, connect, failure_code
from faithline.kubeflow.compile import compile_project
from faithline.pipeline.errors import ConfigError, EnvironmentMismatch, Preempted
from faithline.store.objects import FolderStore

RUN = "11111111-2222-3333-4444-555555555555"
PREFIX = "/apis/v2beta1"


class Server:
    """A KFP server's memory: what was asked, and what it answers."""

    def __init__(self) -> None:
        self.several_users = True
        self.refuse: tuple[int, str] | None = None
        self.asked: list[tuple[str, str, Any]] = []
        self.experiments: list[dict[str, Any]] = []
        self.runs: dict[str, dict[str, Any]] = {}
        self.recurring: dict[str, dict[str, Any]] = {}
        self.logs: dict[str, str] = {}

    def answer(self, method: str, path: str, query: str, body: Any) -> tuple[int, object]:
        self.asked.append((method, path, body))
        if path == f"{PREFIX}/healthz":
            return 200, {"multi_user": self.several_users, "tag_name": "2.17.3"}
        if self.refuse:
            return self.refuse[0], {"error": self.refuse[1]}
        if path == f"{PREFIX}/experiments":
            return self._experiments(method, query, body)
        if match := re.fullmatch(rf"{PREFIX}/(runs|recurringruns)(?:/([^:/]+))?(?::(\w+))?", path):
            return self._runs(method, match, body)
        if match := re.fullmatch(r"/apis/v1alpha1/runs/[^/]+/nodes/([^/]+)/log", path):
            return (200, self.logs[match[1]]) if match[1] in self.logs else (404, {"error": "no log"})
        return 404, {"error": f"no {path}"}

    def _experiments(self, method: str, query: str, body: Any) -> tuple[int, object]:
        if (re.search("namespace=[^&]", query) or (body or {}).get("namespace")) and not self.several_users:
            return 400, {"error": "In single-user mode, the request shouldn't contain a namespace"}
        if method == "POST":
            self.experiments.append(body | {"experiment_id": "e1"})
            return 200, self.experiments[-1]
        return 200, {"experiments": self.experiments}

    def _runs(self, method: str, match: re.Match[str], body: Any) -> tuple[int, object]:
        kind, name, action = match[1], match[2], match[3]
        there = self.runs if kind == "runs" else self.recurring
        if method == "POST" and name is None:
            key = {"runs": "run_id", "recurringruns": "recurring_run_id"}[kind]
            there[RUN] = body | {key: RUN, "state": "PENDING", "status": "ENABLED"}
            return 200, there[RUN]
        if name is None:
            return 200, {"recurringRuns": list(there.values())}
        if name not in there:
            return 404, {"error": f"{name} not found"}
        if action or method == "DELETE":
            there[name]["did"] = action or "delete"
            return 200, {}
        return 200, there[name]


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def endpoint(server: Server) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            path, _, query = self.path.partition("?")
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            code, found = server.answer(self.command, path, query, body)
            data = found.encode() if isinstance(found, str) else json.dumps(found).encode()
            self.send_response(code)
            self.send_header("Content-Type", "text/plain" if isinstance(found, str) else "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_DELETE = handle_any  # noqa: N815 - the base class's names

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_address[1]}"
        http.shutdown()


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kfp import Client

    monkeypatch.setattr(Client, "_LOCAL_KFP_CONTEXT", str(tmp_path / "context.json"))


@pytest.fixture
def package(toy: Path) -> Path:
    path = toy / "pipeline.yaml"
    path.write_text(compile_project(toy), encoding="utf-8")
    return path


def task(name: str, state: str, **more: Any) -> dict[str, Any]:
    return {"display_name": name, "state": state, "task_id": name} | more


@pytest.mark.parametrize("several_users", [True, False])
def test_submit(
    server: Server, endpoint: str, package: Path, several_users: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    server.several_users = several_users
    kubeflow = connect(endpoint, "team", {})
    assert kubeflow.submit(package, "nightly", "faithline", "trainer") == RUN
    run = server.runs[RUN]
    assert (run["display_name"], run["experiment_id"], run["service_account"]) == ("nightly", "e1", "trainer")
    assert set(run["pipeline_spec"]) == {"pipeline_spec", "platform_spec"}
    assert set(run["pipeline_spec"]["pipeline_spec"]["root"]["dag"]["tasks"]) == {"prepare-text", "train", "report"}
    assert server.experiments[0]["namespace"] == ("team" if several_users else "")
    # a second submission finds the experiment
    kubeflow.submit(package, "nightly", "faithline", "trainer")
    assert len(server.experiments) == 1
    assert capsys.readouterr().out == ""


def test_state_of_a_run(server: Server, endpoint: str, package: Path) -> None:
    kubeflow = connect(endpoint, "team", {})
    kubeflow.submit(package, "nightly", "faithline", "trainer")
    server.runs[RUN] |= {
        "state": "FAILED",
        "error": {"code": 2, "message": "task failed"},
        "run_details": {
            "task_details": [
                task("root", "RUNNING"),
                task("prepare-text", "SUCCEEDED"),
                task("train", "FAILED", error={"message": "exit code 30"}),
                task("train-driver", "SUCCEEDED"),
                task("executor", "FAILED"),
            ]
        },
    }
    state = kubeflow.state(RUN)
    assert (state.name, state.state, state.error, state.ended) == ("nightly", "FAILED", "task failed", True)
    assert sorted(state.stages, key=lambda stage: stage.stage) == [
        StageState("prepare_text", "SUCCEEDED", ""),
        StageState("report", "NOT STARTED", ""),
        StageState("train", "FAILED", "exit code 30"),
    ]


def test_log_of_the_latest_attempt(server: Server, endpoint: str, package: Path) -> None:
    kubeflow = connect(endpoint, "team", {})
    kubeflow.submit(package, "nightly", "faithline", "trainer")
    with pytest.raises(ConfigError, match="has no pod"):
        kubeflow.log(RUN, "prepare_text")
    server.runs[RUN]["run_details"] = {
        "task_details": [
            task("prepare-text", "RUNNING", child_tasks=[{"pod_name": "driver-1"}, {"pod_name": "pod-1"}]),
            task("prepare-text-driver", "SUCCEEDED", task_id="driver-1", parent_task_id="prepare-text"),
            task(
                "executor", "FAILED", task_id="pod-1", start_time="2026-01-01T00:00:00Z", parent_task_id="prepare-text"
            ),
            task(
                "executor", "RUNNING", task_id="pod-2", start_time="2026-01-01T00:05:00Z", parent_task_id="prepare-text"
            ),
            task("executor", "RUNNING", task_id="pod-9", start_time="2026-01-01T00:09:00Z", parent_task_id="train"),
        ]
    }
    server.logs = {"pod-1": "first\n", "pod-2": "second ü\n", "pod-9": "other\n"}
    assert kubeflow.log(RUN, "prepare_text") == "second ü\n"


def test_cancel_retry_and_unknown_runs(server: Server, endpoint: str, package: Path) -> None:
    kubeflow = connect(endpoint, "team", {})
    kubeflow.submit(package, "nightly", "faithline", "trainer")
    kubeflow.cancel(RUN)
    assert server.runs[RUN]["did"] == "terminate"
    kubeflow.retry(RUN)
    assert server.runs[RUN]["did"] == "retry"
    with pytest.raises(ConfigError, match="404"):
        kubeflow.state("none")


def test_schedules(server: Server, endpoint: str, package: Path) -> None:
    kubeflow = connect(endpoint, "team", {})
    assert kubeflow.schedule(package, "weekly", "faithline", "trainer", "0 0 3 * * 1") == RUN
    made = server.recurring[RUN]
    assert (made["trigger"]["cron_schedule"]["cron"], made["max_concurrency"]) == ("0 0 3 * * 1", 1)
    assert (made["no_catchup"], made["mode"]) == (True, "ENABLE")
    assert kubeflow.schedules() == [(RUN, "weekly", "0 0 3 * * 1", "ENABLED")]
    kubeflow.unschedule(RUN)
    assert made["did"] == "delete"


@pytest.mark.parametrize(
    ("status", "error"),
    [(401, EnvironmentMismatch), (403, EnvironmentMismatch), (400, ConfigError), (429, Preempted), (503, Preempted)],
)
def test_refusals_have_the_right_class(
    server: Server, endpoint: str, package: Path, status: int, error: type[Exception]
) -> None:
    kubeflow = connect(endpoint, "team", {})
    server.refuse = (status, "because")
    with pytest.raises(error, match="because"):
        kubeflow.state(RUN)


def test_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="no Kubeflow server is named"):
        connect("", "team", {})
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(Preempted, match="cannot be reached"):
        connect(f"http://127.0.0.1:{port}", "team", {})


def test_exit_code_of_a_run(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    guarded(store, RUN, "train", lambda: 30)

    def run(state: str, **stages: str) -> RunState:
        return RunState(RUN, "n", state, "", "", "", tuple(StageState(name, is_, "") for name, is_ in stages.items()))

    assert failure_code(run("SUCCEEDED", train="SUCCEEDED"), store) == 0
    assert failure_code(run("CANCELED"), store) == 130
    assert failure_code(run("FAILED", prepare="SUCCEEDED", train="FAILED"), store) == 30
    # no tombstone: a passing fault, retries used up
    assert failure_code(run("FAILED", prepare="FAILED"), store) == 75


Command = Callable[..., tuple[int, str]]


@pytest.fixture
def faithline(toy: Path, endpoint: str, capsys: pytest.CaptureFixture[str]) -> Command:
    from faithline.cli import main

    def run(*arguments: str) -> tuple[int, str]:
        server = [] if arguments[1] == "compile" else ["--endpoint", endpoint]
        code = main(["--root", str(toy), *arguments, *server])
        return code, capsys.readouterr().out

    return run


def test_the_command(server: Server, faithline: Command, toy: Path, tmp_path: Path) -> None:
    text = (toy / "params.yaml").read_text().replace("s3://bucket/runs", f"file://{tmp_path}/store")
    (toy / "params.yaml").write_text(text)
    assert faithline("kfp", "compile") == (0, compile_project(toy))
    assert faithline("kfp", "submit", "--name", "x") == (0, f"{RUN}\n")
    assert faithline("kfp", "status", RUN)[1].splitlines()[0] == f"{RUN}  x  PENDING"
    server.runs[RUN] |= {"state": "FAILED", "run_details": {"task_details": [task("train", "FAILED")]}}
    guarded(FolderStore(tmp_path / "store"), RUN, "train", lambda: 20)
    code, text = faithline("kfp", "status", RUN, "--wait", "--json")
    assert (code, json.loads(text)["exit_code"]) == (20, 20)
    assert faithline("kfp", "retry", RUN)[0] == 0
    assert faithline("kfp", "status", RUN)[0] == 75  # its tombstone is gone
    assert faithline("kfp", "cancel", RUN) == (0, f"{RUN}: told to stop\n")
    assert faithline("kfp", "schedule", "0 3 * * 1")[0] == 40
    assert faithline("kfp", "schedule", "0 0 3 * * 1") == (0, f"{RUN}\n")
    assert faithline("kfp", "schedules") == (0, f"{RUN}  faithline  0 0 3 * * 1  ENABLED\n")
    assert faithline("kfp", "unschedule", RUN)[0] == 0
    assert faithline("kfp", "logs", RUN, "report")[0] == 40

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithline.kubeflow.task import exit_code, flat_metrics, run_task
from faithline.pipeline.errors import ConfigError, DataInvalid

# Stands in for `faithline run-stage`: what it does is the stage's business, not the wrapper's.
MAKE = """
import json, pathlib, sys
assert "rate: 7" in pathlib.Path("params.yaml").read_text()
pathlib.Path("metrics").mkdir()
pathlib.Path("metrics/train.json").write_text(json.dumps({"loss": 0.5, "sets": {"a": {"em": 1}}, "list": [1]}))
pathlib.Path("reports").mkdir()
pathlib.Path("reports/report.html").write_text("<p>")
"""


def executor_input(toy: Path, *artifacts: str) -> str:
    names = {name: {"artifacts": [{"name": name, "uri": f"minio://b/{name}", "metadata": {}}]} for name in artifacts}
    params = (toy / "params.yaml").read_text().replace("rate: 1.0e-3", "rate: 7")
    return json.dumps(
        {
            "inputs": {"parameterValues": {"params": params}},
            "outputs": {"artifacts": names, "outputFile": str(toy / "kfp" / "output.json")},
        }
    )


def command(program: str, stage: str) -> list[str]:
    return [sys.executable, "-c", program, "run-stage", stage, "--run-id", "r"]


def output(toy: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((toy / "kfp" / "output.json").read_text())["artifacts"]
    return found


def test_params_in_metrics_out(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(toy)
    metrics = toy / "kfp" / "metrics"
    assert run_task(toy, executor_input(toy, "metrics"), command(MAKE, "train"), metrics=metrics, page=None) == 0
    values = {"loss": 0.5, "sets.a.em": 1}
    assert output(toy)["metrics"]["artifacts"] == [{"name": "metrics", "uri": "minio://b/metrics", "metadata": values}]
    assert json.loads(metrics.read_text()) == values


def test_page_out(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(toy)
    page = toy / "kfp" / "page"
    assert run_task(toy, executor_input(toy, "page"), command(MAKE, "report"), metrics=None, page=page) == 0
    assert page.read_text() == "<p>"
    assert output(toy)["page"]["artifacts"][0]["metadata"] == {}


@pytest.mark.parametrize("code", [1, 10, 20, 30, 40, 50, 75])
def test_a_failure_keeps_its_code_and_shows_nothing(toy: Path, code: int) -> None:
    failing = command(f"raise SystemExit({code})", "train")
    found = run_task(toy, executor_input(toy, "metrics"), failing, metrics=toy / "m", page=None)
    assert (found, (toy / "m").exists(), (toy / "kfp").exists()) == (code, False, False)


def test_success_without_the_promised_file_is_no_success(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(toy)
    with pytest.raises(DataInvalid, match="ended well without a file"):
        run_task(toy, executor_input(toy, "metrics"), command("", "train"), metrics=toy / "m", page=None)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"inputs": {}}', "{{$}}"])
def test_a_bad_executor_input_changes_nothing(toy: Path, text: str) -> None:
    before = (toy / "params.yaml").read_bytes()
    with pytest.raises(ConfigError, match="not one of Kubeflow's"):
        run_task(toy, text, command("", "train"), metrics=None, page=None)
    assert (toy / "params.yaml").read_bytes() == before


def test_a_stop_signal_reaches_the_stage(toy: Path) -> None:
    stage = "import signal, sys, time, pathlib\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(75))\n"
    stage += "pathlib.Path('up').touch()\ntime.sleep(60)"
    program = (
        "import sys, pathlib\nfrom faithline.kubeflow.task import run_task\n"
        f"command = [sys.executable, '-c', {stage!r}, 'run-stage', 'train']\n"
        f"sys.exit(run_task(pathlib.Path(), {executor_input(toy)!r}, command, metrics=None, page=None))"
    )
    with subprocess.Popen([sys.executable, "-c", program], cwd=toy) as process:
        for _ in range(600):
            if (toy / "up").exists():
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 75


def test_what_the_system_says_of_an_ended_process(tmp_path: Path) -> None:
    events = tmp_path / "memory.events"
    assert exit_code(-9, events) == 75  # evicted: no such file
    events.write_text("low 0\nhigh 0\noom 0\noom_kill 0\n")
    assert [exit_code(code, events) for code in (-9, 137, -15, 143)] == [75, 75, 75, 75]
    events.write_text("low 0\nhigh 0\noom 3\noom_kill 1\n")
    assert [exit_code(code, events) for code in (-9, 137, -15)] == [50, 50, 75]
    assert [exit_code(code, events) for code in (0, 30, 130, -11)] == [0, 30, 130, 139]


@given(
    st.recursive(
        st.dictionaries(
            st.text(min_size=1).filter(lambda key: "." not in key), st.floats() | st.booleans(), max_size=3
        ),
        lambda inner: st.dictionaries(st.text(min_size=1).filter(lambda key: "." not in key), inner, max_size=3),
    )
)
def test_flat_metrics_hold_every_showable_leaf(nested: dict[str, Any]) -> None:
    def count(node: Any) -> int:
        if isinstance(node, dict):
            return sum(count(value) for value in node.values())
        return int(isinstance(node, bool) or abs(node) < float("inf"))

    flat = flat_metrics(nested)
    assert len(flat) == count(nested)
    json.loads(json.dumps(flat, allow_nan=False))

"""The commands as a shell sees them: text, JSON, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faithline.cli import main

Edit = Callable[[Path, Callable[[Any], None]], None]
ROOT = Path(__file__).resolve().parents[2]
Command = Callable[..., tuple[int, str]]


@pytest.fixture
def faithline(toy: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    def run(*arguments: str) -> tuple[int, str]:
        code = main(["--root", str(toy), *arguments])
        return code, capsys.readouterr().out

    return run


def test_lint(faithline: Command, toy: Path, edit: Edit) -> None:
    assert faithline("lint") == (0, "lint: the compiled pipeline: nothing to mend\n")
    edit(toy / "params.yaml", lambda d: d["cluster"]["images"].update(runtime="x:dev"))
    code, text = faithline("lint")
    assert code == 20
    assert "kfp compile: prepare_text: image x:dev is not pinned" in text
    (toy / "rendered").mkdir()
    assert faithline("kfp", "compile", "-o", str(toy / "rendered" / "pipeline.yaml"))[0] == 0
    code, text = faithline("lint", str(toy / "rendered"))
    assert (code, text.count("not pinned")) == (20, 2)
    assert faithline("lint", str(toy / "none.yaml"))[0] == 40


def test_plan(faithline: Command, toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from dvc.repo import Repo

    Repo.init(str(toy), no_scm=True)
    capsys.readouterr()
    code, text = faithline("plan")
    assert code == 0
    assert text.splitlines()[0].split() == ["stage", "action", "pool", "hours", "GPU-hours", "EUR", "why"]
    assert "3 of 3 stages run: 0-8.00 GPU-hours" in text
    # train 8.0; prepare_text 2 h x 1/8 of a node x 0.8; report 1/6 h x 1/16 x 0.8
    code, text = faithline("plan", "--json", "--budget", "8.2")
    found = json.loads(text)
    assert (code, found["over_budget"]) == (2, True)
    assert found["cost"] == {"low": 0.0, "high": pytest.approx(8.0 + 0.2 + 0.8 / 96)}
    code, text = faithline("plan", "--budget", "8.3")
    assert (code, text.splitlines()[-1]) == (0, "within the budget of EUR 8.3")


def test_doctor(faithline: Command, toy: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "KUBECONFIG",
        "KF_PIPELINES_ENDPOINT",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ENDPOINT_URL",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("HOME", str(toy))
    code, text = faithline("doctor", "--json")
    checks = json.loads(text)
    assert (code, {check["state"] for check in checks} - {"ok", "note"}) == (0, set())
    assert faithline("doctor", "--cluster")[0] == 40
    edit(toy / "params.yaml", lambda d: d["cluster"].pop("retry"))
    code, text = faithline("doctor")
    assert code == 40
    (line,) = [line for line in text.splitlines() if line.startswith("FAIL")]
    assert "missing key `retry`" in line


def test_the_commands_load_nothing_heavy_to_be_listed() -> None:
    program = (
        "import sys\nfrom faithline.cli import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'kfp', 'dvc', 'yaml', 'kubernetes', 'boto3'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
    for name in ("kfp", "plan", "lint", "doctor"):
        assert f"    {name} " in done.stdout

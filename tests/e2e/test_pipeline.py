"""The whole pipeline through DVC, in a copy of the project: the embedded sample and real data, at a tiny size."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"


def run(folder: Path, *command: str, code: int = 0, timeout_s: float = 900) -> str:
    """Run a command of the runtime environment in `folder`, check its exit code, return what it printed."""
    env = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run(
        [str(BIN / command[0]), *command[1:]],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == code, f"{' '.join(command)}: exit {done.returncode}\n{done.stdout[-6000:]}"
    return done.stdout


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=test", "-c", "user.email=test@example.invalid", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def copy_project(folder: Path) -> Path:
    """Copy what git tracks or would track, as its own repository."""
    names = git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    for name in names:
        if (ROOT / name).is_file() and not name.startswith(("metrics/", "plots/", "dvc.lock")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "copy")
    return folder


def product_hashes(folder: Path) -> dict[str, str]:
    lock = YAML(typ="safe", pure=True).load((folder / "dvc.lock").read_text(encoding="utf-8"))
    return {out["path"]: out["md5"] for stage in lock["stages"].values() for out in stage["outs"]}


@pytest.fixture(scope="module")
def sample_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy_project(tmp_path_factory.mktemp("sample"))
    run(folder, "faithline", "params", "apply", "conf/tiny.yaml")
    run(folder, "dvc", "repro")
    return folder


def test_the_run_leaves_complete_outputs_and_a_report(sample_run: Path) -> None:
    graph = YAML(typ="safe", pure=True).load((sample_run / "dvc.yaml").read_text(encoding="utf-8"))
    for stage in graph["stages"].values():
        for out in stage.get("outs", []):
            path = sample_run / (next(iter(out)) if isinstance(out, dict) else out)
            assert path.exists(), path
            if path.is_dir():
                record = json.loads((path / "record.json").read_text(encoding="utf-8"))
                for name, digest in record["outputs"].items():
                    assert hashlib.sha256((path / name).read_bytes()).hexdigest() == digest, (path, name)
    table = run(sample_run, "faithline", "summary")
    assert str(sample_run / "reports" / "report.html") in table
    assert "hotpotqa" in table


def test_running_again_runs_nothing(sample_run: Path) -> None:
    output = run(sample_run, "dvc", "repro")
    assert "Running stage" not in output
    assert "up to date" in output
    assert run(sample_run, "dvc", "status").strip() == "Data and pipelines are up to date."


def test_dvc_shows_metrics_plots_and_graph(sample_run: Path) -> None:
    shown = json.loads(run(sample_run, "dvc", "metrics", "show", "--json"))[""]["data"]
    scores = shown["metrics/evaluate.json"]["data"]["all"]
    stored = json.loads((sample_run / "metrics" / "evaluate.json").read_text(encoding="utf-8"))["all"]
    assert scores == stored
    run(sample_run, "dvc", "plots", "show", "-o", "plots_page")
    assert (sample_run / "plots_page" / "index.html").read_text(encoding="utf-8").count("vega") > 0
    assert "warm_start" in run(sample_run, "dvc", "dag", "--mermaid")


def test_an_experiment_runs_only_what_the_setting_concerns(sample_run: Path) -> None:
    git(sample_run, "add", "-A")
    git(sample_run, "commit", "-qm", "first run")
    output = run(sample_run, "dvc", "exp", "run", "-S", "evaluate.bootstrap_samples=100", "report")
    ran = {line.split("'")[1] for line in output.splitlines() if line.startswith("Running stage")}
    assert ran == {"evaluate", "compare", "report"}
    text = (sample_run / "params.yaml").read_text(encoding="utf-8")
    assert "bootstrap_samples: 100" in text
    assert "# " in text, "comments are gone"
    check_the_champion_stays(sample_run)
    git(sample_run, "checkout", "-q", "--", ".")
    run(sample_run, "dvc", "checkout")


def check_the_champion_stays(folder: Path) -> None:
    """The same answers as the champion's show no improvement: exit 10, a message that is no error, nothing changed."""
    champion = json.loads((folder / "models/registry/registry.json").read_text(encoding="utf-8"))["champion"]
    assert "verdict: Undecided: the champion stays" in run(folder, "faithline", "promote", "verdict", code=10)
    output = run(folder, "dvc", "repro", code=255)
    assert "promote: undecided: f1" in output
    assert "error: promote" not in output
    assert f"{champion} stays the champion" in output
    assert "exited with 10" in output
    assert f"champion  {champion}" in run(folder, "faithline", "promote", "status")


def test_the_same_inputs_give_the_same_bytes_in_another_folder(sample_run: Path, tmp_path: Path) -> None:
    other = copy_project(tmp_path / "a" / "longer" / "path")
    run(other, "faithline", "params", "apply", "conf/tiny.yaml")
    run(other, "dvc", "repro")
    assert product_hashes(other) == product_hashes(sample_run)


def test_a_bad_setting_stops_the_run_with_one_message(sample_run: Path) -> None:
    params = sample_run / "params.yaml"
    good = params.read_text(encoding="utf-8")
    params.write_text(good.replace("top_k:", "topk:"), encoding="utf-8")
    try:
        output = run(sample_run, "dvc", "repro", "answer", code=255)
        assert "unknown key `topk`" in output
        assert "did you mean `top_k`?" in output
        assert "exited with 40" in output
    finally:
        params.write_text(good, encoding="utf-8")
        run(sample_run, "dvc", "repro")


def test_a_shut_data_gate_stops_the_run_before_anything_is_trained(sample_run: Path) -> None:
    params = sample_run / "params.yaml"
    good = params.read_text(encoding="utf-8")
    params.write_text(good.replace("documents_per_question: [1, 100]", "documents_per_question: [1, 2]"), "utf-8")
    try:
        output = run(sample_run, "dvc", "repro", code=255)
        assert "hotpotqa: questions.documents" in output
        assert "exited with 20" in output
        ran = [line.split("'")[1] for line in output.splitlines() if line.startswith("Running stage")]
        assert ran == ["check_data"]
    finally:
        params.write_text(good, encoding="utf-8")
        run(sample_run, "dvc", "repro")
    assert run(sample_run, "dvc", "status").strip() == "Data and pipelines are up to date."


def test_real_sets_run_by_settings_alone(sample_run: Path, real_data: Path, tmp_path: Path) -> None:
    folder = copy_project(tmp_path / "real")
    run(folder, "faithline", "params", "apply", "conf/tiny.yaml", "conf/real_data.yaml")
    root = YAML(typ="rt")
    params = root.load((folder / "params.yaml").read_text(encoding="utf-8"))
    params["prepare_data"]["root"] = str(real_data)
    params["answer"]["limit"] = 3
    with (folder / "params.yaml").open("w", encoding="utf-8") as file:
        root.dump(params, file)
    # The models of the sample run, through DVC's cache, as a second run on one machine would have them.
    run(folder, "dvc", "cache", "dir", "--local", str(sample_run / ".dvc" / "cache"))
    run(folder, "dvc", "repro")
    metrics = json.loads((folder / "metrics" / "evaluate.json").read_text(encoding="utf-8"))
    assert {name: metrics[name]["n"] for name in ("hotpotqa", "2wikimultihopqa", "musique")} == {
        "hotpotqa": 3,
        "2wikimultihopqa": 3,
        "musique": 3,
    }
    prepared = json.loads((folder / "metrics" / "prepare_data.json").read_text(encoding="utf-8"))
    # The figures that the data's own README and a plain re-computation give for the first 250 rows.
    assert prepared["2wikimultihopqa_documents_per_question_mean"] == 10.0
    assert round(prepared["musique_irrelevant_document_ratio"], 4) == 0.8681
    assert round(prepared["hotpotqa_irrelevant_document_ratio"], 4) == 0.7994

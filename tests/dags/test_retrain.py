"""The DAG, in Airflow's own environment: it parses without heavy imports, has the graph's edges, and really runs."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from faithline.pipeline.graph import load_graph

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv-airflow" / "bin" / "python"
INSPECT = """
import json, sys
from airflow.dag_processing.dagbag import DagBag
bag = DagBag(dag_folder=sys.argv[1])
dag = bag.dags["retrain"]
heavy = sorted({"torch", "transformers", "kfp", "vllm", "ray", "datasets", "pandas", "pyarrow"} & set(sys.modules))
edges = {task.task_id: sorted(task.upstream_task_ids) for task in dag.tasks}
print("RESULT " + json.dumps({"errors": bag.import_errors, "heavy": heavy, "edges": edges}))
"""


@pytest.fixture
def airflow_env(tmp_path: Path) -> dict[str, str]:
    if not PYTHON.exists():
        pytest.fail("no Airflow environment: run `make setup`")
    kept = {key: value for key, value in os.environ.items() if not key.startswith("AIRFLOW")}
    return {
        **kept,
        "PATH": f"{PYTHON.parent}:{kept['PATH']}",
        "AIRFLOW_HOME": str(tmp_path / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        "FAITHLINE_RUNTIME": str(ROOT / ".venv"),
    }


def test_the_dag_has_exactly_the_graph_of_dvc_yaml(airflow_env: dict[str, str]) -> None:
    command = [str(PYTHON), "-c", INSPECT, str(ROOT / "dags")]
    done = subprocess.run(command, env=airflow_env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    result = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("RESULT "))[7:])
    graph = load_graph(ROOT)
    assert result["errors"] == {}
    assert result["heavy"] == []
    assert result["edges"] == {name: sorted(graph.upstream(name)) for name in graph.stages}


def test_a_run_executes_the_stages_in_order(airflow_env: dict[str, str], tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "params.yaml").write_text("seed: 1\n")
    (project / "dvc.yaml").write_text(
        "stages:\n"
        "  second: {cmd: cat one.txt one.txt > two.txt, deps: [one.txt], outs: [two.txt]}\n"
        "  first: {cmd: echo hello > one.txt, outs: [one.txt]}\n"
    )
    dvc = str(ROOT / ".venv" / "bin" / "dvc")
    subprocess.run([dvc, "init", "-q", "--no-scm"], cwd=project, check=True)
    env = {**airflow_env, "FAITHLINE_PROJECT": str(project)}
    airflow = str(PYTHON.parent / "airflow")
    subprocess.run([airflow, "db", "migrate"], env=env, capture_output=True, timeout=300, check=True)
    command = [airflow, "dags", "test", "retrain"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    assert (project / "two.txt").read_text() == "hello\nhello\n"

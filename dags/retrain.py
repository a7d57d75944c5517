"""Retrain: every stage of `dvc.yaml` as one task on this machine, run by DVC in the runtime environment."""

from __future__ import annotations

import os
from pathlib import Path

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

from faithline.pipeline.graph import load_graph

PROJECT = Path(os.environ.get("FAITHLINE_PROJECT", Path(__file__).resolve().parent.parent))
RUNTIME = Path(os.environ.get("FAITHLINE_RUNTIME", PROJECT / ".venv"))

with DAG("retrain", schedule=None, catchup=False, max_active_runs=1, max_active_tasks=1, doc_md=__doc__) as dag:
    graph = load_graph(PROJECT)
    # One task at a time: DVC locks the project while a stage runs. Stage names come from dvc.yaml, not from data.
    tasks = {
        stage.name: BashOperator(
            task_id=stage.name,
            bash_command=f"dvc repro --single-item {stage.name}",
            cwd=str(PROJECT),
            env={"PATH": f"{RUNTIME / 'bin'}:{os.environ['PATH']}", "DVC_NO_ANALYTICS": "1", "HF_HUB_OFFLINE": "1"},
            append_env=True,
            doc_md=f"`{stage.cmd}`",
        )
        for stage in graph.stages.values()
    }
    for name, task in tasks.items():
        task.set_upstream([tasks[other] for other in graph.upstream(name)])

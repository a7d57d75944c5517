"""What DVC leaves to git must reach git: this repository's own outputs with `cache: false`."""

from __future__ import annotations

import subprocess
from pathlib import Path

from faithline.pipeline.graph import load_graph
from faithline.runs.transfer import uncached_outputs

ROOT = Path(__file__).resolve().parents[2]


def test_git_ignores_no_output_that_dvc_leaves_to_it() -> None:
    graph = load_graph(ROOT)
    left = sorted(path for stage in graph.stages for path in uncached_outputs(ROOT, graph, stage))
    assert len(left) > 3
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", *left], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("", 1), "a clone would lack them: ignore less, or let DVC cache them"

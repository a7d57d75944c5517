"""Rules of the house that a reader would otherwise have to check by eye."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from faithline.pipeline.graph import load_graph

ROOT = Path(__file__).resolve().parents[2]
STAGES = list(load_graph(ROOT).stages)
SOURCES = [p for top in ("faithline", "components", "dags") for p in (ROOT / top).rglob("*.py")]
HEAVY = ("torch", "transformers", "peft", "datasets", "kfp", "vllm", "ray", "pandas", "pyarrow", "matplotlib", "dvc")


@pytest.mark.parametrize("stage", STAGES)
def test_help_needs_no_heavy_import(stage: str) -> None:
    program = (
        "import runpy, sys\n"
        "sys.argv = ['x', '--help']\n"
        f"try:\n    runpy.run_module('components.{stage}', run_name='__main__')\n"
        "except SystemExit as exit:\n    code = exit.code\n"
        f"print(code, sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr == "0 []\n"
    assert "Exit codes" in done.stdout


def test_pipeline_loads_no_heavy_library() -> None:
    modules = [
        ".".join(p.relative_to(ROOT).with_suffix("").parts) for p in (ROOT / "faithline/pipeline").glob("[a-z]*.py")
    ]
    program = f"import sys\nfor m in {modules!r}: __import__(m)\nprint(sorted(set({HEAVY!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_airflows_environment_reads_every_stage_s_settings() -> None:
    python = ROOT / ".venv-airflow" / "bin" / "python"  # it holds no numpy, no torch, no dvc
    command = [str(python), "-m", "faithline.cli", "params", "check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_help_is_quick() -> None:
    def cpu_s(*arguments: str) -> float:
        """Processor seconds: on a busy machine wall time says little about the program."""
        best = float("inf")
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return best

    assert cpu_s("-m", "components.warm_start", "--help") - cpu_s("-c", "pass") <= 0.5


@pytest.mark.parametrize(
    "pattern",
    [
        r"trust_remote_code\s*=\s*True",
        r"\bpickle\b",
        r"shell\s*=\s*True",
        r"\byaml\.(unsafe_|full_)?load\(",
        r"\bNotImplementedError\b|TODO|FIXME",
    ],
)
def test_forbidden_in_sources(pattern: str) -> None:
    hits = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in SOURCES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(pattern, line) and not line.lstrip().startswith(("#", '"""'))
    ]
    assert hits == []


def test_exponents_are_numbers_for_every_yaml_reader() -> None:
    # YAML 1.1 readers take `1e-6` for text; `1.0e-6` is a number for all of them.
    for path in [ROOT / "params.yaml", *(ROOT / "conf").glob("*.yaml")]:
        assert not re.search(r":\s*\d+e[-+]?\d+\b", path.read_text(encoding="utf-8")), path

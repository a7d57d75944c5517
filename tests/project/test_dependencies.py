"""`dvc.yaml` declares exactly the code each stage runs: no change goes unnoticed, none re-runs an unrelated stage."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from faithline.pipeline.graph import covers, load_graph

ROOT = Path(__file__).resolve().parents[2]
GRAPH = load_graph(ROOT)
# Hold a docstring and the version only: a release must not re-run every stage.
EMPTY = {"faithline/__init__.py", "components/__init__.py"}


def module_files(dotted: str) -> set[str]:
    """Files that importing `dotted` executes: the packages on the way and the module itself."""
    parts = dotted.split(".")
    files = set()
    for depth in range(1, len(parts) + 1):
        base = Path(*parts[:depth])
        files |= {str(f) for f in (base / "__init__.py", base.with_suffix(".py")) if (ROOT / f).is_file()}
    return files


def imported(file: str) -> set[str]:
    """Project files that `file` imports anywhere, inside functions too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            if name.split(".")[0] in {"faithline", "components"}:
                found |= module_files(name)
    return found


def closure(stage: str) -> set[str]:
    todo, seen = {f"components/{stage}/__main__.py"}, set()
    while todo:
        file = todo.pop()
        seen.add(file)
        todo |= imported(file) - seen
    return seen - EMPTY


@pytest.mark.parametrize("stage", list(GRAPH.stages))
def test_code_dependencies_are_true(stage: str) -> None:
    code = [dep for dep in GRAPH.stage(stage).deps if dep.split("/")[0] in {"faithline", "components"}]
    used = closure(stage)
    missing = sorted(f for f in used if not any(covers(dep, f) for dep in code))
    unused = sorted(dep for dep in code if not any(covers(dep, f) for f in used))
    assert (missing, unused) == ([], [])


def test_imports_point_one_way() -> None:
    files = [p.relative_to(ROOT).as_posix() for top in ("faithline", "dags") for p in (ROOT / top).rglob("*.py")]
    for file in files:
        targets = imported(file)
        if file.startswith("faithline/"):
            assert not {t for t in targets if t.startswith("components/")}, file
        if file.startswith("faithline/pipeline/"):
            assert all(t.startswith("faithline/pipeline/") or t in EMPTY for t in targets), file
        if file.startswith("dags/"):
            assert all(t.startswith("faithline/pipeline/") or t in EMPTY for t in targets), file


def test_later_stages_may_import_earlier_ones_never_the_reverse() -> None:
    order = GRAPH.order()
    for stage in order:
        others = {f.split("/")[1] for f in closure(stage) if f.startswith("components/")} - {stage}
        assert all(order.index(other) < order.index(stage) for other in others), (stage, others)

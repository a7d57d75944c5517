"""One file may import Great Expectations, and nothing loads it before a gate is judged."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_one_file_imports_great_expectations() -> None:
    files = [path for top in ("faithline", "components", "dags") for path in (ROOT / top).rglob("*.py")]
    assert len(files) > 20
    users = [
        path.relative_to(ROOT).as_posix()
        for path in files
        if re.search(r"^\s*(import|from)\s+great_expectations\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert users == ["faithline/gates/gx.py"]


def test_great_expectations_loads_only_when_a_gate_is_judged() -> None:
    program = (
        "import sys, faithline.gates.gate\n"
        "print(sorted({'great_expectations', 'altair', 'scipy', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

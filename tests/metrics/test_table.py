"""The terminal table."""

from __future__ import annotations

import subprocess
import sys

from faithline.metrics.table import text_table

METRICS = {
    "all": {"n": 30, "em": 0.4, "em_lo": 0.25, "em_hi": 0.55, "f1": 0.5, "answer_rate": 0.9},
    "hotpotqa": {"n": 20, "em": 0.35, "em_lo": 0.15, "em_hi": 0.55, "f1": 0.5, "answer_rate": 1.0},
    "bioasq": {"n": 10, "em": 0.5, "em_lo": 0.2, "em_hi": 0.8, "answer_rate": 0.7, "abstention_rate": 1.0},
}


def test_layout() -> None:
    assert text_table(METRICS).splitlines() == [
        "set        n                 EM    F1  answered  abstained rightly",
        "------------------------------------------------------------------",
        "bioasq    10  50.0 [20.0, 80.0]     -      70.0              100.0",
        "hotpotqa  20  35.0 [15.0, 55.0]  50.0     100.0                  -",
        "all       30  40.0 [25.0, 55.0]  50.0      90.0                  -",
        "------------------------------------------------------------------",
        "percent; [bootstrap interval]; EM, F1, accuracy and recall over the answerable questions",
    ]


def test_needs_no_third_party_library() -> None:
    program = (
        "import sys; import faithline.metrics.table\n"
        "print(sorted({'numpy', 'pyarrow', 'msgspec', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

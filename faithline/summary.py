"""What a finished run tells on the terminal: the metrics table, the verdict, and the report's path."""

from __future__ import annotations

import json
from pathlib import Path

from faithline.metrics.table import text_table
from faithline.pipeline.errors import DataInvalid
from faithline.promotion.summary import read_summary, told
from faithline.promotion.verdict import VERDICT

METRICS = "metrics/evaluate.json"
REPORT = "reports/report.html"


def summary(root: Path) -> str:
    """Return the metrics table of the last evaluation, the verdict, and the path of the HTML report.

    Raises:
        DataInvalid: If the run has not finished or its metrics cannot be read.
    """
    for name in (METRICS, VERDICT, REPORT):
        if not (root / name).is_file():
            raise DataInvalid("the pipeline has not finished", where=name, next_step="run `dvc repro`")
    try:
        metrics = json.loads((root / METRICS).read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataInvalid(f"not JSON: {error}", where=METRICS, next_step="run `dvc repro -f -s evaluate`") from None
    verdict = told(read_summary(root / VERDICT))
    return f"{text_table(metrics)}\n\n{verdict}\n\nreport: {(root / REPORT).resolve()}"

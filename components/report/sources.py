"""What the page is made from, read and checked.

The evaluation (items and slices) must be there. Everything else may be absent, and the page says so; a file that is
there but cannot be read is an error that names it, for a report must not pass over a broken run.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from faithline.metrics.slices import Evaluation
from faithline.pipeline.errors import DataInvalid
from faithline.pipeline.records import Record
from faithline.promotion.summary import Summary, read_summary
from faithline.promotion.verdict import VERDICT

__all__ = ["METRICS", "RECORDS", "Curve", "DataSource", "Metrics", "Sources", "read"]

RECORDS = {
    "generate_sample": ("data/raw/sample",),
    "fetch_models": ("models/backbone", "models/embedder"),
    "prepare_data": ("data/prepared",),
    "warm_start": ("models/warm_start",),
    "build_index": ("data/index",),
    "answer": ("data/answers",),
    "evaluate": ("data/evaluation",),
    "compare": ("data/comparison",),
}
"""Stage → its output folders, each with a record.json."""

METRICS = tuple(
    f"metrics/{stage}.json"
    for stage in ("prepare_data", "check_data", "warm_start", "build_index", "answer", "evaluate", "compare")
)
_NOISE, _GATES, _DRIFT = (f"reports/{name}.json" for name in ("noise", "gates", "drift"))
_CURVE = "plots/warm_start.csv"
_ITEMS = (
    *("question_id", "set", "split", "question", "question_type", "hops", "answerable", "answers"),
    *("prediction", "outcome", "completion", "context", "supporting_documents", "context_recall"),
    *("em_official", "f1_official", "em_strict", "f1_strict"),
)

T = TypeVar("T")
Curve = Mapping[str, list[tuple[float, float]]]
"""Column → (step, value), where there is a value."""
Metrics = dict[str, object]
"""Content of a metrics file."""


class DataSource(msgspec.Struct, frozen=True):
    """The part of an entry of data/prepared/sources.json that the page shows."""

    format: str
    rows: int
    kept: int
    tables: dict[str, int]
    rows_per_split: dict[str, int]
    sha256: dict[str, str]


class Suite(msgspec.Struct, frozen=True):
    """The part of a gate's result that the page shows; see `faithline.gates.outcome`."""

    declared: int
    held: int
    passed: bool


class Gates(msgspec.Struct, frozen=True):
    """The gates of the data."""

    suites: dict[str, Suite]


class Drift(msgspec.Struct, frozen=True):
    """How the data differ from those accepted last; see `faithline.gates.drift`."""

    drifted: bool
    reasons: list[str]


@dataclass(frozen=True)
class Sources:
    """Everything the page shows."""

    evaluation: Evaluation
    items: pa.Table
    """As the stage `evaluate` writes them."""
    records: dict[str, Record | None]
    """Output folder → its record."""
    metrics: dict[str, Metrics | None]
    """Metrics file → its content."""
    data: dict[str, DataSource] | None
    """Set → what it was read from."""
    verdict: Summary | None
    """The candidate against the champion."""
    noise: dict[str, object] | None
    """The noise statistics."""
    gates: Gates | None
    drift: Drift | None
    curve: Curve | None
    """The warm start's training curve."""
    absent: tuple[str, ...]
    """Optional files that are not there."""


def read(dep: Callable[[str], Path]) -> Sources:
    """Read the files of a run.

    Args:
        dep: Project path → place; raises DataInvalid where there is none.

    Raises:
        DataInvalid: If the evaluation is missing, or any file is broken.
    """
    absent: list[str] = []

    def optional(path: str, reader: Callable[[Path], T]) -> T | None:
        try:
            place = dep(path)
        except DataInvalid:
            absent.append(path)
            return None
        return reader(place)

    return Sources(
        evaluation=_json(dep("data/evaluation/slices.json"), Evaluation),
        items=_items(dep("data/evaluation/items.parquet")),
        records={
            folder: optional(f"{folder}/record.json", lambda place: _json(place, Record))
            for folders in RECORDS.values()
            for folder in folders
        },
        metrics={path: optional(path, lambda place: _json(place, Metrics)) for path in METRICS},
        data=optional("data/prepared/sources.json", lambda place: _json(place, dict[str, DataSource])),
        verdict=optional(VERDICT, read_summary),
        noise=optional(_NOISE, lambda place: _json(place, dict[str, object])),
        gates=optional(_GATES, lambda place: _json(place, Gates)),
        drift=optional(_DRIFT, lambda place: _json(place, Drift)),
        curve=optional(_CURVE, _curve),
        absent=tuple(absent),
    )


def _json(path: Path, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _broken(path, str(error)) from None


def _items(path: Path) -> pa.Table:
    try:
        table = pq.read_table(path)
    except pa.ArrowInvalid as error:
        raise _broken(path, str(error)) from None
    missing = sorted(set(_ITEMS) - set(table.column_names))
    if missing:
        raise _broken(path, f"column `{missing[0]}` is missing")
    return table


def _curve(path: Path) -> Curve:
    try:
        rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
        names = [name for name in (rows[0] if rows else {}) if name != "step"]
        curve = {name: [(float(row["step"]), float(row[name])) for row in rows if row[name]] for name in names}
    except (ValueError, KeyError, TypeError) as error:
        raise _broken(path, f"not a table of numbers by step: {error}") from None
    if not curve.get("loss"):
        raise _broken(path, "no column `loss` with a value")
    if not all(math.isfinite(number) for points in curve.values() for point in points for number in point):
        raise _broken(path, "a value is not finite")
    return curve


def _broken(path: Path, why: str) -> DataInvalid:
    return DataInvalid(
        f"broken file: {why}", where=str(path), next_step="run the stage that wrote it again (`dvc repro -f`)"
    )

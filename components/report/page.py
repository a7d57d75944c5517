"""From the sources to the page: what is shown where, in plain values; the template only lays it out.

Every text goes through Jinja's autoescaping, for questions, passages and answers may hold markup; only our own style
sheet and figures are marked safe. The same sources give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from components.report.cost import costs
from components.report.gallery import worst
from components.report.params import Report
from components.report.plots import Bar, intervals_svg, loss_svg
from components.report.sources import METRICS, RECORDS, Sources
from faithline.data.prepared import Documents
from faithline.metrics.slices import Estimate, Evaluation, Slice
from faithline.metrics.table import HEADLINE, POOLED
from faithline.noise.plots import figures
from faithline.noise.table import findings_table, lengths_table
from faithline.pipeline.records import Record

__all__ = ["render"]

_HERE = Path(__file__).parent
_RESULTS = {**HEADLINE, "failure_rate": "unreadable", "length": "words"}
_BOTH_RULES = {
    "em_strict": "EM strict",
    "em_official": "EM official",
    "f1_strict": "F1 strict",
    "f1_official": "F1 official",
}
_SLICES = {key: HEADLINE[key] for key in ("em", "f1", "accuracy", "answer_rate", "abstention_rate")}
_SHARES = {
    "answerable_share": "answerable",
    "documents_per_question_mean": "passages per question",
    "irrelevant_document_ratio": "irrelevant passages",
}
_SAMPLE = "data/raw/sample"


@dataclass(frozen=True)
class Output:
    """One output folder in the run summary."""

    stage: str
    path: str
    record: Record | None
    seeds: dict[str, object]
    settings: str


def render(sources: Sources, documents: Documents, settings: Report) -> str:
    """Render the page.

    Args:
        sources: The run.
        documents: The prepared documents, for the gallery.
        settings: What to show.
    """
    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"percent": _percent, "interval": _interval, "number": _number}
    result = sources.evaluation
    sets = _sets(result)
    shown, small = _splits(result, settings.min_slice_items)
    bars = [Bar(name, part.n, part.metrics.get("em"), part.metrics.get("f1")) for name, part in sets.items()]
    return environment.get_template("template.html.jinja").render(
        style=Markup((_HERE / "style.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        title=settings.title,
        result=result,
        verdict=sources.verdict,
        costs=costs(sources.metrics),
        pooled=sets[POOLED],
        sets=sets,
        splits=sorted(set(sources.items["split"].to_pylist())),
        columns={
            "results": _present(_RESULTS, sets.values()),
            "rules": _BOTH_RULES,
            "slices": _present(_SLICES, shown),
        },
        slices=shown,
        small_slices=small,
        min_slice_items=settings.min_slice_items,
        intervals=Markup(intervals_svg(bars)),  # noqa: S704 - Matplotlib escapes its texts
        loss=Markup(loss_svg(sources.curve)) if sources.curve else None,  # noqa: S704 - as above
        gallery=worst(
            sources.items, documents, result.normalisation, settings.worst_per_set, settings.passage_characters
        ),
        data=sources.data,
        shares=_shares(sources),
        noise=_noise(sources.noise),
        gates=sources.gates,
        drift=sources.drift,
        share_titles=_SHARES,
        outputs=_outputs(sources.records),
        versions=_versions(sources.records),
        metrics={path: _leaves(sources.metrics[path]) for path in METRICS},
        unanswered=_unanswered(sources),
        synthetic=_is_sample(sources.records),
        absent=sources.absent,
    )


def _sets(result: Evaluation) -> dict[str, Slice]:
    """Pooled first, then the sets by name."""
    parts = [part for part in result.slices if set(part.where) <= {"set"}]
    return {part.where.get("set", POOLED): part for part in parts}


def _splits(result: Evaluation, least: int) -> tuple[list[Slice], int]:
    """Slices finer than a set that are large enough, and how many are not; none that repeats a set's own slice."""
    finer = [part for part in result.slices if set(part.where) - {"set"}]
    own = {(*_label(part), part.n) for part in finer if "set" in part.where}
    parts = [part for part in finer if "set" in part.where or (*_label(part), part.n) not in own]
    shown = [part for part in parts if part.n >= least]
    return shown, len(parts) - len(shown)


def _label(part: Slice) -> tuple[str, ...]:
    return tuple(f"{key}={value}" for key, value in part.where.items() if key != "set")


def _present(titles: Mapping[str, str], parts: Iterable[Slice]) -> dict[str, str]:
    found = {name for part in parts for name in part.metrics}
    return {name: title for name, title in titles.items() if name in found}


def _shares(sources: Sources) -> dict[str, dict[str, object]]:
    """Set → share → value, from the flat names `<set>_<share>` of metrics/prepare_data.json."""
    flat = sources.metrics["metrics/prepare_data.json"] or {}
    return {
        name: {share: flat[f"{name}_{share}"] for share in _SHARES if f"{name}_{share}" in flat}
        for name in sources.data or {}
    }


def _noise(report: Mapping[str, object] | None) -> dict[str, list[Markup]] | None:
    """Tables and figures of the noise statistics; every text in them is escaped where they are made."""
    if report is None:
        return None
    tables = [lengths_table(report).html(), findings_table(report).html()]
    drawn = figures(report).values()
    return {"tables": [Markup(text) for text in tables], "figures": [Markup(text) for text in drawn]}  # noqa: S704


def _outputs(records: Mapping[str, Record | None]) -> list[Output]:
    rows = []
    for stage, folders in RECORDS.items():
        for folder in folders:
            record = records[folder]
            params = record.params if record else {}
            seeds = {name: value for name, value in _leaves(params).items() if "seed" in name.rpartition(".")[2]}
            rows.append(Output(stage, folder, record, seeds, json.dumps(params, indent=2, ensure_ascii=False)))
    return rows


def _versions(records: Mapping[str, Record | None]) -> dict[str, list[str]]:
    """Library → the versions that the stages ran with; more than one is worth seeing."""
    found: dict[str, set[str]] = {}
    for record in filter(None, records.values()):
        for name, version in record.versions.items():
            found.setdefault(name, set()).add(version)
    return {name: sorted(found[name]) for name in sorted(found)}


def _leaves(tree: Mapping[str, object] | None, prefix: str = "") -> dict[str, object]:
    """Flatten nested mappings to dotted names."""
    flat: dict[str, object] = {}
    for key, value in (tree or {}).items():
        flat |= _leaves(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return flat


def _unanswered(sources: Sources) -> object:
    pooled = (sources.metrics["metrics/evaluate.json"] or {}).get(POOLED)
    return pooled.get("unanswered", 0) if isinstance(pooled, Mapping) else 0


def _is_sample(records: Mapping[str, Record | None]) -> bool:
    record = records["data/prepared"]
    return record is not None and _leaves(record.params).get("prepare_data.root") == _SAMPLE


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"


def _interval(estimate: Estimate, scale: float = 100) -> str:
    return f"{scale * estimate.lo:.1f} to {scale * estimate.hi:.1f}"


def _number(value: object) -> str:
    """Integers with thin spaces, floats to four significant digits, anything else as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}".replace(",", "\u202f") if isinstance(value, int) else f"{value:.4g}"

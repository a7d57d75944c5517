"""The model card of a promotion: Hugging Face's README.md, with its YAML front matter.

The front matter has the fields that the hub reads (license, base_model, library_name, tags, datasets, model-index with
each result); the text has what a person decides by: the verdict, the checks with intervals, the scores per set, and
what is not known. Sets are named as in params.yaml, which need not be names of the hub.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass

from ruamel.yaml import YAML

from faithline.metrics.slices import Evaluation, Slice
from faithline.promotion.checks import points
from faithline.promotion.summary import ABSENT, Row, summarise
from faithline.promotion.verdict import Verdict

__all__ = ["Card", "card"]

_METRICS = {"f1": "F1", "em": "exact match", "hallucination_rate": "hallucination rate", "answer_rate": "answer rate"}
_INTRODUCTION = (
    "LoRA adapters of a retrieval-augmented agent, promoted by a statistical gate. This folder is its evidence: every "
    "file is named with its digest in `manifest.json` (`faithline verify-bundle .`)."
)
_LIMITS = (
    "The intervals treat questions as independent and say nothing about another training seed. A hallucination is what "
    "the evaluation's rule calls one (`evaluate.hallucination` in params.yaml); silence never counts as one, so read "
    "it beside the answer rate. Other uses than answering from given passages were not evaluated."
)


@dataclass(frozen=True)
class Card:
    """What the card says besides verdict and scores."""

    name: str
    licence: str
    base_model: str
    adapters: dict[str, str]
    """Adapter name → digest of its record."""
    reproduce: str
    """The exact commands."""
    unlocked: list[str]
    """Stages of which dvc.lock knows nothing."""


def card(about: Card, verdict: Verdict, result: Evaluation) -> str:
    """Write the card.

    Args:
        about: Names and commands.
        verdict: The gate's verdict.
        result: The candidate's evaluation.
    """
    sets = {part.where["set"]: part for part in result.slices if set(part.where) == {"set"}}
    front = io.StringIO()
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.dump(_front_matter(about, sets), front)
    sections = [
        f"# {about.name}",
        _INTRODUCTION,
        "## Verdict",
        _against(verdict),
        "\n".join(f"- {reason}" for reason in verdict.reasons),
        _table(
            ["check", "items", "candidate", "champion", "difference [interval]", "p"],
            map(_check_row, summarise(verdict).checks),
        ),
        "## Scores",
        f"Percent, {result.bootstrap.confidence:.0%} bootstrap intervals, normalisation `{result.normalisation}`.",
        _table(["set", "questions", *_METRICS.values()], [_slice_row(name, part) for name, part in sets.items()]),
        "## Adapters",
        _table(["adapter", "record"], [[name, f"`{digest}`"] for name, digest in about.adapters.items()]),
        "## Limits",
        _LIMITS,
        "## Reproduce",
        f"```sh\n{about.reproduce.strip()}\n```",
    ]
    if about.unlocked:
        sections.append(f"Made outside `dvc repro` as far as these stages go: {', '.join(about.unlocked)}.")
    return f"---\n{front.getvalue()}---\n\n" + "\n\n".join(sections) + "\n"


def _against(verdict: Verdict) -> str:
    return (
        f"**{verdict.verdict}**, against {verdict.champion or 'no champion'}, on {verdict.items} questions "
        f"(item set `{verdict.items_digest[:12]}`), alpha {verdict.alpha:g} one-sided."
    )


def _front_matter(about: Card, sets: dict[str, Slice]) -> dict[str, object]:
    results = [
        {
            "task": {"type": "question-answering"},
            "dataset": {"type": name, "name": name, "split": "test"},
            "metrics": [
                {"type": metric, "name": title, "value": part.metrics[metric].mean}
                for metric, title in _METRICS.items()
                if metric in part.metrics
            ],
        }
        for name, part in sets.items()
    ]
    return {
        "license": about.licence,
        "base_model": about.base_model,
        "library_name": "peft",
        "pipeline_tag": "text-generation",
        "tags": ["lora", "retrieval-augmented-generation", "faithfulness"],
        "datasets": list(sets),
        "metrics": ["f1", "exact_match"],
        "model-index": [{"name": about.name, "results": results}],
    }


def _check_row(row: Row) -> list[str]:
    change = f"own mean {row.difference}" if row.champion == ABSENT else row.difference
    return [f"{row.name}: {row.rule}", str(row.n), row.candidate, row.champion, change, row.p]


def _slice_row(name: str, part: Slice) -> list[str]:
    cells = []
    for metric in _METRICS:
        found = part.metrics.get(metric)
        cells.append(f"{points(found.mean)} [{points(found.lo)}, {points(found.hi)}]" if found else ABSENT)
    return [name, str(part.n), *cells]


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)

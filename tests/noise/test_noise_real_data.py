"""The first 250 rows of three real sets, against a plain re-computation, and against the figures in the issue."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faithline.data.raw_tables import raw_tables
from faithline.data.source_settings import FORMATS
from faithline.noise.command import noise_command
from faithline.noise.settings import Noise

SETS = {
    "2wikimultihopqa": (10.0, 76.16),
    "musique": (19.984, 86.81),
    "hotpotqa": (9.968, 79.94),
}


def plain(path: Path) -> dict[str, Any]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[:250]]
    shown = [row["contexts"] for row in rows]
    gold = [sum(document["is_supporting"] for document in documents) for documents in shown]
    counts = [len(documents) for documents in shown]
    words = [sum(len(document["paragraph_text"].split()) for document in documents) for documents in shown]
    characters = [sum(len(document["paragraph_text"]) for document in documents) for documents in shown]
    return {
        "samples": len(rows),
        "query_words": [len(row["question_text"].split()) for row in rows],
        "documents": counts,
        "context_words": words,
        "context_characters": characters,
        "document_words": [len(d["paragraph_text"].split()) for documents in shown for d in documents],
        "document_characters": [len(d["paragraph_text"]) for documents in shown for d in documents],
        "gold_documents": gold,
        "ratio": 1 - sum(gold) / sum(counts),
        "per_query": [(total - some) / total for some, total in zip(gold, counts, strict=True)],
    }


def described(values: list[float]) -> dict[str, float]:
    ordered, total = sorted(values), len(values)
    quantiles = {f"q{share:02}": ordered[math.ceil(share * total / 100) - 1] for share in (5, 25, 50, 75, 95)}
    return {"avg": pytest.approx(sum(values) / total), "min": ordered[0], "max": ordered[-1], **quantiles}


@pytest.mark.parametrize("name", SETS)
def test_statistics_equal_a_plain_computation(name: str, real_data: Path, noise_settings: Callable[..., Noise]) -> None:
    path = real_data / f"{name}.jsonl"
    expected = plain(path)
    report: Any = noise_command(path, None, noise_settings(), FORMATS, raw_tables)
    found = report["sets"][name]["questions"]["splits"]["all"]
    assert report["source"]["kept"] == found["samples"] == expected["samples"] == 250
    for key in (
        "query_words",
        "documents",
        "context_words",
        "context_characters",
        "document_words",
        "document_characters",
        "gold_documents",
    ):
        assert found[key] == described(expected[key]), key
    irrelevant = found["irrelevant_documents"]
    assert irrelevant["ratio"] == pytest.approx(expected["ratio"], abs=1e-12)
    assert irrelevant["per_query"] == described(expected["per_query"])
    assert (found["documents"]["avg"], round(100 * irrelevant["ratio"], 2)) == SETS[name]


def test_label_noise_of_ragtruth(real_data: Path, noise_settings: Callable[..., Noise]) -> None:
    lines = (real_data / "ragtruth" / "response.jsonl").read_text(encoding="utf-8").splitlines()
    responses = [json.loads(line) for line in lines]
    labels = [(row["response"], span) for row in responses for span in row["labels"]]
    wrong = sum(text[span["start"] : span["end"]] != span["text"] for text, span in labels)
    report: Any = noise_command(real_data / "ragtruth", None, noise_settings(), FORMATS, raw_tables)
    found = report["sets"]["ragtruth"]["responses"]
    assert found["splits"]["all"]["responses"] == len(responses)
    assert found["splits"]["all"]["samples"] == len({row["source_id"] for row in responses})
    assert found["labels"]["spans"] == len(labels)
    assert found["labels"]["wrong_offsets"]["count"] == wrong
    assert found["labels"]["due_to_null"]["count"] == sum(bool(span["due_to_null"]) for _, span in labels)
    assert found["labels"]["implicit_true"]["count"] == sum(bool(span["implicit_true"]) for _, span in labels)
    assert found["labels"]["labelled_responses"]["count"] == sum(bool(row["labels"]) for row in responses)


@pytest.mark.parametrize("name", ["bioasq_golden.json", "popqa.json", "truthfulqa.csv", "2wikimultihopqa.jsonl"])
def test_every_set_at_hand_is_measured(name: str, real_data: Path, noise_settings: Callable[..., Noise]) -> None:
    report: Any = noise_command(real_data / name, None, noise_settings(), FORMATS, raw_tables)
    assert report["source"]["kept"] > 0
    json.dumps(report, allow_nan=False)

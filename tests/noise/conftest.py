"""Prepared folders made by hand, and settings to measure them with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from faithline.data.schema import TABLES, file_name
from faithline.noise.settings import Noise

Rows = Sequence[Mapping[str, Any]]
BLANK: dict[str, dict[str, Any]] = {
    "questions": {
        "set": "s",
        "split": "train",
        "answers": ["x"],
        "answerable": True,
        "question_type": "",
        "hops": None,
        "documents": [],
        "supporting": [],
        "plan": [],
    },
    "documents": {"set": "s", "title": ""},
    "claims": {"set": "s", "split": "train", "category": "", "truthful": True, "best": False},
    "responses": {
        "set": "s",
        "split": "train",
        "task": "qa",
        "query": "q",
        "documents": [],
        "model": "m",
        "quality": "good",
        "labels": [],
    },
    "judgements": {
        "set": "s",
        "split": "train",
        "origin": "",
        "task": "qa",
        "criterion": "faithfulness",
        "query": "q",
        "documents": [],
    },
}


@pytest.fixture
def make_prepared(tmp_path: Path) -> Callable[..., Path]:
    """Factory: a prepared folder from rows by table; fields not given are filled in."""

    def make(*, name: str = "prepared", **tables: Rows) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        for table, schema in TABLES.items():
            rows = [{**BLANK.get(table, {}), **row} for row in tables.get(table, [])]
            pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder / file_name(table))
        return folder

    return make


@pytest.fixture
def noise_settings() -> Callable[..., Noise]:
    """Factory: settings for tests, single values replaced by dotted name (`leakage__ngram_words=3`)."""

    def make(**changes: Any) -> Noise:
        raw: dict[str, Any] = {
            "quantiles": [0.05, 0.25, 0.5, 0.75, 0.95],
            "near_duplicates": {"shingle_words": 3, "permutations": 64, "min_jaccard": 0.8},
            "leakage": {"ngram_words": 13, "max_document_ngrams": 1_000_000},
            "language": {"min_words": 20, "min_function_words": 0.1, "max_other_script": 0.3},
            "truncated_min_words": 5,
            "longest_text": 1_000_000,
            "sort_mib": 16,
            "examples": 3,
        }
        for key, value in changes.items():
            *path, last = key.split("__")
            place = raw
            for part in path:
                place = place[part]
            place[last] = value
        return msgspec.convert(raw, Noise)

    return make

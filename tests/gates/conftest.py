"""A small, faultless prepared folder, and settings of the gates, for tests to break."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from faithline.data.schema import TABLES, file_name
from faithline.gates.limits import Gates

Rows = dict[str, list[dict[str, Any]]]


def document_id(name: str, title: str, text: str) -> str:
    return f"{name}/{hashlib.sha256(title.encode() + bytes(1) + text.encode()).hexdigest()[:16]}"


def faultless() -> Rows:
    """Four sets: `hop` asks questions, `truth` has claims, `rag` has responses, `bench` has judgements."""
    tables: Rows = {name: [] for name in TABLES}
    splits = ["train"] * 6 + ["validation"] * 2 + ["test"] * 2
    for number, split in enumerate(splits):
        shown = []
        for place in range(4):
            title, text = f"Town {number}-{place}", f"Town {number}-{place} lies by the river {number}."
            shown.append(document_id("hop", title, text))
            tables["documents"].append({"document_id": shown[-1], "set": "hop", "title": title, "text": text})
        tables["questions"].append(
            {
                "question_id": f"hop/q{number}",
                "set": "hop",
                "split": split,
                "question": f"By which river lies town {number}?",
                "answers": [f"river {number}"],
                "answerable": True,
                "question_type": "bridge",
                "hops": 2,
                "documents": shown,
                "supporting": [True, False, False, False],
                "plan": [],
            }
        )
        for truthful in (True, False):
            tables["claims"].append(
                {
                    "claim_id": f"truth/c{number}/{truthful}-0",
                    "question_id": f"truth/c{number}",
                    "set": "truth",
                    "split": split,
                    "category": "myths",
                    "question": f"Is myth {number} true?",
                    "answer": "No." if truthful else "Yes.",
                    "truthful": truthful,
                    "best": True,
                }
            )
        article = f"Article {number} says that it rained."
        source = document_id("rag", "", article)
        tables["documents"].append({"document_id": source, "set": "rag", "title": "", "text": article})
        context = f"Context {number} says that it hailed."
        judged = document_id("bench", "", context)
        tables["documents"].append({"document_id": judged, "set": "bench", "title": "", "text": context})
        tables["judgements"].append(
            {
                "judgement_id": f"bench/j{number}",
                "source_id": f"bench/s{number}",
                "set": "bench",
                "split": split,
                "origin": "",
                "task": "qa",
                "criterion": "faithfulness",
                "query": "What fell?",
                "documents": [judged],
                "preferred": "Hail fell.",
                "rejected": "Snow fell.",
            }
        )
        for model in ("one", "two"):
            tables["responses"].append(
                {
                    "response_id": f"rag/r{number}-{model}",
                    "source_id": f"rag/s{number}",
                    "set": "rag",
                    "split": split,
                    "task": "summary",
                    "query": "Summarize the following news.",
                    "documents": [source],
                    "response": "It rained 🌧 and snowed.",
                    "model": model,
                    "quality": "good",
                    "labels": [
                        {
                            "start": 12,
                            "end": 22,
                            "text": "and snowed",
                            "type": "Evident Baseless Info",
                            "implicit_true": False,
                            "due_to_null": False,
                        }
                    ],
                }
            )
    return tables


def write_tables(folder: Path, tables: Rows, schemas: Mapping[str, pa.Schema] | None = None) -> Path:
    """Write tables as Parquet; `schemas` replaces those of the project."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in tables.items():
        schema = (schemas or {}).get(name) or pa.schema([field.with_nullable(True) for field in TABLES[name]])
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder / file_name(name), write_page_checksum=True)
    return folder


@pytest.fixture(scope="session")
def make_tables() -> Callable[[], Rows]:
    return faultless


@pytest.fixture(scope="session")
def write_to() -> Callable[..., Path]:
    return write_tables


@pytest.fixture(scope="session")
def declared() -> dict[str, dict[str, int | None]]:
    return {
        "hop": {"questions": 10, "documents": 40},
        "truth": {"claims": 20},
        "rag": {"responses": 20, "documents": 10},
        "bench": {"judgements": 10, "documents": 10},
    }


@pytest.fixture(scope="session")
def settings() -> Callable[..., Gates]:
    return make_settings


@pytest.fixture
def tables() -> Rows:
    return faultless()


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write_to(tables: Rows, schemas: Mapping[str, pa.Schema] | None = None, name: str = "prepared") -> Path:
        return write_tables(tmp_path / name, tables, schemas)

    return write_to


def make_settings(
    limits: Mapping[str, Any] | None = None,
    drift: Mapping[str, Any] | None = None,
    sets: Mapping[str, Any] | None = None,
) -> Gates:
    base: dict[str, Any] = {
        "limits": {
            "min_rows": {"train": 6, "validation": 2, "test": 2},
            "question_characters": [10, 100],
            "documents_per_question": [4, 4],
            "max_document_characters": 100,
            "max_empty_documents": 0.0,
            "max_near_duplicates": 0.1,
            "max_unanswerable": 0.1,
            "irrelevant_share": [0.7, 0.8],
            "max_unknown_supporting": 0.0,
            "max_unknown_hops": 0.0,
            "truthful_share": [0.4, 0.6],
            "max_blank_responses": 0.0,
            "max_mismatched_labels": 0.0,
            "max_leaked_exact": 0.0,
            "max_leaked_ngram": 0.1,
        },
        "sets": dict(sets or {}),
        "drift": {
            "action": "fail",
            "max_psi": 0.25,
            "significance": 0.001,
            "share_floor": 0.0001,
            "rows_ratio": [0.5, 4.0],
            "vocabulary_buckets": 16,
        },
    }
    base["limits"].update(limits or {})
    base["drift"].update(drift or {})
    return msgspec.convert(base, Gates)

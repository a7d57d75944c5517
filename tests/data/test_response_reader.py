"""RAGTruth's two files: sources of three tasks, annotated responses, and their join."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from faithline.data.document_store import DocumentStore
from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.ragtruth import read_responses, read_sources
from faithline.data.response_table import ResponseTables
from faithline.data.splits import Splitter
from faithline.pipeline.errors import DataInvalid

SOURCES: list[dict[str, Any]] = [
    {
        "source_id": 14300,
        "task_type": "QA",
        "source_info": {"question": "who pays?", "passages": "passage 1:Ada pays.\n\npassage 2:Bob\nowes.\n\n"},
        "prompt": "Briefly answer ...",
    },
    {"source_id": "15599", "task_type": "Summary", "source_info": "Ada opened a plant."},
    {"source_id": "13601", "task_type": "Data2txt", "source_info": {"name": "Café", "stars": 4.0, "WiFi": None}},
]
LABEL = {
    "start": 4,
    "end": 8,
    "text": "owes",
    "meta": "x",
    "label_type": "Evident Conflict",
    "implicit_true": False,
    "due_to_null": True,
}
RESPONSES: list[dict[str, Any]] = [
    {
        "id": "0",
        "source_id": 14300,
        "model": "gpt-4-0613",
        "labels": [LABEL | {"start": 9, "end": 12, "text": "two"}, LABEL],
        "split": "train",
        "quality": "good",
        "response": "Ada owes two.",
    },
    {"id": "1", "source_id": "15599", "model": "m", "labels": [], "quality": "truncated", "response": "A plant"},
    {"id": "2", "source_id": "13601", "model": "m", "labels": [LABEL], "quality": "good", "response": "Wi-Fi"},
]


def read(
    folder: Path,
    sources: list[Any] = SOURCES,
    responses: list[Any] = RESPONSES,
    on_invalid: str = "fail",
    limit: int | None = None,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], RowLedger]:
    for name, rows in (("source_info", sources), ("response", responses)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    ledger = RowLedger("ragtruth", on_invalid)  # type: ignore[arg-type]
    tables = ResponseTables(Splitter(1, "ragtruth", (0.5, 0.0, 0.5)), DocumentStore("ragtruth"), ledger)
    documents = [
        row
        for batch in tables.add_sources(read_sources(folder, ledger, lambda _: None), limit)
        for row in batch.to_pylist()
    ]
    found = [
        row for batch in tables.responses(read_responses(folder, ledger, lambda _: None)) for row in batch.to_pylist()
    ]
    assert ledger.rows == ledger.kept + ledger.skipped.total()
    return documents, found, ledger


def test_three_tasks(tmp_path: Path) -> None:
    documents, responses, ledger = read(tmp_path)
    assert [(row["title"], row["text"]) for row in documents] == [
        ("", "Ada pays."),
        ("", "Bob\nowes."),
        ("", "Ada opened a plant."),
        ("Café", '{"name":"Café","stars":4.0,"WiFi":null}'),
    ]
    ids = [row["document_id"] for row in documents]
    assert [row["documents"] for row in responses] == [ids[:2], ids[2:3], ids[3:]]
    assert [row["task"] for row in responses] == ["qa", "summary", "data2txt"]
    assert responses[0]["query"] == "who pays?"
    assert all(row["query"] for row in responses)
    first = responses[0]
    assert (first["response_id"], first["source_id"]) == ("ragtruth/0", "ragtruth/14300")
    assert first["labels"] == [
        {
            "start": start,
            "end": end,
            "text": text,
            "type": "Evident Conflict",
            "implicit_true": False,
            "due_to_null": True,
        }
        for start, end, text in ((4, 8, "owes"), (9, 12, "two"))
    ]
    # The third response's label points at "i" of "Wi-Fi" and says "owes".
    assert dict(ledger.noticed) == {"responses_with_unsorted_labels": 1, "labels_off_their_text": 1}
    assert ledger.variant == "official"


def test_responses_to_one_source_share_its_split(tmp_path: Path) -> None:
    sources = [SOURCES[1] | {"source_id": str(number)} for number in range(60)]
    responses = [RESPONSES[1] | {"id": str(n), "source_id": str(n % 60)} for n in range(180)]
    _, found, _ = read(tmp_path, sources, responses)
    by_source: dict[str, set[str]] = {}
    for row in found:
        by_source.setdefault(row["source_id"], set()).add(row["split"])
    assert len(by_source) == 60
    assert all(len(splits) == 1 for splits in by_source.values())
    assert set().union(*by_source.values()) == {"train", "test"}


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ({"task_type": "Chat"}, "wrong_schema"),
        ({"source_info": ["a list"]}, "wrong_schema"),
        ({"source_info": {"question": "no passages?"}}, "wrong_schema"),
        ({"source_info": {"question": "q", "passages": " \n"}}, "blank_source"),
        ({"source_id": ""}, "blank_id"),
        ({"source_id": None}, "wrong_schema"),
    ],
)
def test_bad_sources(tmp_path: Path, source: dict[str, Any], reason: str) -> None:
    bad = {"source_id": "bad", "task_type": "QA", "source_info": {"question": "q", "passages": "p"}} | source
    with pytest.raises(DataInvalid, match=reason.replace("_", " ")) as caught:
        read(tmp_path, [*SOURCES, bad])
    assert caught.value.where.endswith("source_info.jsonl:4")
    _, responses, ledger = read(tmp_path, [*SOURCES, bad], on_invalid="skip")
    assert (len(responses), dict(ledger.skipped)) == (3, {reason: 1})


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ({"source_id": "elsewhere"}, "unknown_source"),
        ({"labels": [LABEL | {"start": -1}]}, "wrong_schema"),
        ({"labels": [LABEL | {"end": 2**31}]}, "wrong_schema"),
        ({"labels": None}, "wrong_schema"),
        ({"id": ""}, "blank_id"),
        ({"id": "0"}, "conflicting_id"),
    ],
)
def test_bad_responses(tmp_path: Path, response: dict[str, Any], reason: str) -> None:
    bad = RESPONSES[1] | {"id": "bad"} | response
    with pytest.raises(DataInvalid, match=reason.replace("_", " ")) as caught:
        read(tmp_path, responses=[*RESPONSES, bad])
    assert caught.value.where.endswith("response.jsonl:4")
    _, responses, ledger = read(tmp_path, responses=[*RESPONSES, bad], on_invalid="skip")
    assert ([row["response_id"][-1] for row in responses], dict(ledger.skipped)) == (["0", "1", "2"], {reason: 1})


def test_equal_repetitions_are_dropped_and_counted(tmp_path: Path) -> None:
    documents, responses, ledger = read(tmp_path, [*SOURCES, SOURCES[0]], [*RESPONSES, RESPONSES[2]])
    assert (len(documents), len(responses), dict(ledger.skipped)) == (4, 3, {"repeated": 2})


def test_limit_counts_sources_and_leaves_their_responses_out(tmp_path: Path) -> None:
    documents, responses, ledger = read(tmp_path, limit=1)
    assert (len(documents), len(responses)) == (2, 1)
    assert (ledger.rows, ledger.kept, dict(ledger.skipped)) == (6, 2, {"beyond_limit": 4})


def test_passages_without_numbers_are_one_document(tmp_path: Path) -> None:
    source = SOURCES[0] | {"source_info": {"question": "q", "passages": "Just one. See passage 2: nothing."}}
    documents, _, _ = read(tmp_path, [source], [RESPONSES[0]])
    assert [row["text"] for row in documents] == ["Just one. See passage 2: nothing."]

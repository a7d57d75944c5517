"""RAGTruth: a folder of source_info.jsonl (what models were asked) and response.jsonl (what they wrote, annotated).

Three tasks: qa (a question with numbered passages), summary (a news article), data2txt (a business's data as JSON).
The publisher's own train/test split is not used: splits are dealt by source, as for every set.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec

from faithline.data.readers.json_rows import OnBytes, json_rows
from faithline.data.readers.ledger import RowError, RowLedger
from faithline.data.readers.records import Label, Response, Source
from faithline.data.readers.variants import decode_row

__all__ = ["RESPONSES_FILE", "SOURCES_FILE", "read_responses", "read_sources"]

SOURCES_FILE = "source_info.jsonl"
RESPONSES_FILE = "response.jsonl"

SUMMARY_QUERY = "Summarize the following news."
DATA2TXT_QUERY = "Write an objective overview about the following local business based only on the structured data."
"""The instructions of RAGTruth's prompts (paper, appendix A) without their word limits, which vary per source."""

_PASSAGE = re.compile(r"^passage \d+:", re.MULTILINE)
Offset = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class _SourceRow(msgspec.Struct, gc=False):
    source_id: int | str
    task_type: str
    """QA, Summary or Data2txt."""
    source_info: Any
    """{question, passages} | the article | the business's data."""


class _LabelRow(msgspec.Struct, gc=False):
    start: Offset
    end: Offset
    text: str
    label_type: str
    implicit_true: bool = False
    due_to_null: bool = False


class _ResponseRow(msgspec.Struct, gc=False):
    id: int | str
    source_id: int | str
    model: str
    response: str
    labels: list[_LabelRow]
    quality: str = ""


class _QaInfo(msgspec.Struct, gc=False):
    question: str
    passages: str
    """Blocks that start with "passage <n>:"."""


def read_sources(folder: Path, ledger: RowLedger, on_bytes: OnBytes) -> Iterator[Source]:
    """Stream the sources.

    Raises:
        DataInvalid: If the file cannot be read, or has a bad row and the ledger says fail.
    """
    ledger.variant = "official"
    decoder = msgspec.json.Decoder(_SourceRow)
    for row in json_rows(folder / SOURCES_FILE, on_bytes):
        ledger.rows += 1
        record = decode_row(row, decoder, ledger)
        if record is None:
            continue
        try:
            source = _source(record, row.where)
        except RowError as error:
            ledger.reject(row.where, error.reason, error.detail)
            continue
        yield source


def read_responses(folder: Path, ledger: RowLedger, on_bytes: OnBytes) -> Iterator[Response]:
    """Stream the responses, labels sorted.

    Raises:
        DataInvalid: If the file cannot be read, or has a bad row and the ledger says fail.
    """
    decoder = msgspec.json.Decoder(_ResponseRow)
    for row in json_rows(folder / RESPONSES_FILE, on_bytes):
        ledger.rows += 1
        record = decode_row(row, decoder, ledger)
        if record is None:
            continue
        if not str(record.id).strip():
            ledger.reject(row.where, "blank_id", "the id is blank")
            continue
        yield Response(
            where=row.where,
            response_id=str(record.id),
            source_id=str(record.source_id),
            response=record.response,
            model=record.model,
            quality=record.quality,
            labels=_labels(record, ledger),
        )


def _source(record: _SourceRow, where: str) -> Source:
    source_id = str(record.source_id)
    if not source_id.strip():
        raise RowError("blank_id", "the id is blank")
    match record.task_type.lower(), record.source_info:
        case "qa", dict() as info:
            try:
                asked = msgspec.convert(info, _QaInfo)
            except msgspec.ValidationError as error:
                raise RowError("wrong_schema", f"source_info of {source_id}: {error}") from error
            query, texts = asked.question, _passages(asked.passages)
            titles = [""] * len(texts)
        case "summary", str() as article:
            query, titles, texts = SUMMARY_QUERY, [""], [article]
        case "data2txt", dict() as info:
            query, titles, texts = DATA2TXT_QUERY, [str(info.get("name", ""))], [msgspec.json.encode(info).decode()]
        case task, info:
            raise RowError("wrong_schema", f"source {source_id} has task {task!r} and {type(info).__name__} data")
    if not query.strip() or not any(text.strip() for text in texts):
        raise RowError("blank_source", f"source {source_id} has a blank query or no text")
    if any("\0" in title for title in titles):
        raise RowError("nul_character", f"the title of source {source_id} holds a NUL character")
    return Source(
        where=where, source_id=source_id, task=record.task_type.lower(), query=query.strip(), titles=titles, texts=texts
    )


def _passages(text: str) -> list[str]:
    """Split numbered passages; a text without numbers is one passage."""
    return [stripped for part in _PASSAGE.split(text) if (stripped := part.strip())]


def _labels(record: _ResponseRow, ledger: RowLedger) -> list[Label]:
    """Sort the spans; count those that were out of order or whose text differs from the slice they point at."""
    spans = [(label.start, label.end) for label in record.labels]
    ledger.notice("responses_with_unsorted_labels", spans != sorted(spans))
    ledger.notice(
        "labels_off_their_text", sum(record.response[row.start : row.end] != row.text for row in record.labels)
    )
    return [
        Label(
            start=row.start,
            end=row.end,
            text=row.text,
            type=row.label_type,
            implicit_true=row.implicit_true,
            due_to_null=row.due_to_null,
        )
        for row in sorted(record.labels, key=lambda row: (row.start, row.end))
    ]

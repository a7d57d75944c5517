"""RAGTruth: a folder of source_info.jsonl (what models were asked) and response.jsonl (what they wrote, annotated).

The hub form is one table instead, a response and its source in each row. Three tasks: qa (a question with numbered
passages), summary (a news article), data2txt (a business's data as JSON). The publisher's own train/test split is not
used: splits are dealt by source, as for every set.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from faithline.data.readers.json_rows import OnBytes, json_rows
from faithline.data.readers.ledger import RowError, RowLedger
from faithline.data.readers.records import AnnotatedRow, Label, Response, Source
from faithline.data.readers.variants import RecordFormat, Variant, content_id, decode_row
from faithline.data.source_files import RESPONSES_FILE, SOURCES_FILE

__all__ = [
    "RAGTRUTH_HUB",
    "Offset",
    "SpanRow",
    "labels_of",
    "read_responses",
    "read_sources",
    "source_of",
    "task_of",
]

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


class SpanRow(msgspec.Struct, gc=False):
    """An annotated span, as RAGTruth writes it."""

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
    labels: list[SpanRow]
    quality: str = ""


class _HubRow(msgspec.Struct, gc=False):
    """One row of the hub's table."""

    id: int | str
    query: str
    context: str
    output: str
    task_type: str
    model: str
    hallucination_labels: str
    """The spans as JSON inside a string."""
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
            source = source_of(str(record.source_id), record.task_type.lower(), record.source_info, row.where)
            ledger.check_documents(source.source_id, source.titles, source.texts)
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
            labels=labels_of(record.response, record.labels, ledger),
        )


def task_of(source_info: object) -> str:
    """Tell the task from the shape of a source, where no field names it."""
    if isinstance(source_info, str):
        return "summary"
    is_question = isinstance(source_info, dict) and {"question", "passages"} <= source_info.keys()
    return "qa" if is_question else "data2txt"


def source_of(source_id: str, task: str, source_info: object, where: str) -> Source:
    """Read what models were asked.

    Args:
        source_id: Id in the source.
        task: qa, summary or data2txt.
        source_info: {question, passages} | the article | the business's data.
        where: Place in the file.

    Raises:
        RowError: If an id is blank, the task and data do not fit each other, or there is nothing to read.
    """
    if not source_id.strip():
        raise RowError("blank_id", "the id is blank")
    match task, source_info:
        case "qa", dict():
            try:
                asked = msgspec.convert(source_info, _QaInfo)
            except msgspec.ValidationError as error:
                raise RowError("wrong_schema", f"source_info of {source_id}: {error}") from error
            query, texts = asked.question, _passages(asked.passages)
            titles = [""] * len(texts)
        case "summary", str() as article:
            query, titles, texts = SUMMARY_QUERY, [""], [article]
        case "data2txt", dict() as info:
            query, titles, texts = DATA2TXT_QUERY, [str(info.get("name", ""))], [msgspec.json.encode(info).decode()]
        case _:
            raise RowError(
                "wrong_schema", f"source {source_id} has task {task!r} and {type(source_info).__name__} data"
            )
    return _checked(
        Source(where=where, source_id=source_id, task=task, query=query.strip(), titles=titles, texts=texts)
    )


def _checked(source: Source) -> Source:
    if not source.query or not any(text.strip() for text in source.texts):
        raise RowError("blank_source", f"source {source.source_id} has a blank query or no text")
    return source


def _normalise_hub(row: _HubRow, where: str, ledger: RowLedger) -> AnnotatedRow:
    """A row has no source id: it is a hash of query and context, so that responses to one source stay together."""
    if not str(row.id).strip():
        raise RowError("blank_id", "the id is blank")
    try:
        spans = msgspec.json.decode(row.hallucination_labels, type=list[SpanRow])
    except msgspec.DecodeError as error:
        raise RowError("wrong_schema", f"hallucination_labels is not a JSON list of spans: {error}") from error
    task = row.task_type.lower()
    if task not in {"qa", "summary", "data2txt"}:
        raise RowError("wrong_schema", f"task_type is {row.task_type!r}")
    texts = _passages(row.context) if task == "qa" else [row.context]
    source = Source(
        where=where,
        source_id=content_id(row.query, row.context),
        task=task,
        query=row.query.strip(),
        titles=[""] * len(texts),
        texts=texts,
    )
    response = Response(
        where=where,
        response_id=str(row.id),
        source_id=source.source_id,
        response=row.output,
        model=row.model,
        quality=row.quality,
        labels=labels_of(row.output, spans, ledger),
    )
    return AnnotatedRow(where=where, row_id=response.response_id, source=_checked(source), responses=[response])


RAGTRUTH_HUB = RecordFormat(variants=(Variant("hub", _HubRow, _normalise_hub),))


def _passages(text: str) -> list[str]:
    """Split numbered passages; a text without numbers is one passage."""
    return [stripped for part in _PASSAGE.split(text) if (stripped := part.strip())]


def labels_of(response: str, spans: Sequence[SpanRow], ledger: RowLedger) -> list[Label]:
    """Sort the spans; count those that were out of order or whose text differs from the slice they point at."""
    places = [(span.start, span.end) for span in spans]
    ledger.notice("responses_with_unsorted_labels", places != sorted(places))
    ledger.notice("labels_off_their_text", sum(response[span.start : span.end] != span.text for span in spans))
    return [
        Label(
            start=span.start,
            end=span.end,
            text=span.text,
            type=span.label_type,
            implicit_true=span.implicit_true,
            due_to_null=span.due_to_null,
        )
        for span in sorted(spans, key=lambda span: (span.start, span.end))
    ]

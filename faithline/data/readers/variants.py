"""Reading a format that exists in several variants (official release, hub form, processed form) told by their keys.

A `Variant` is a typed record of the published schema and a pure function from it to what readers hand on. The first
row that has all required keys of a variant decides; where several have them, the first that the row's types fit too.
Every other row must fit the same one. Keys that a schema does not name are ignored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from faithline.data.readers.json_rows import OnBytes, RawRow, readable
from faithline.data.readers.ledger import RowError, RowLedger
from faithline.data.readers.records import Question
from faithline.data.readers.rows import raw_rows
from faithline.pipeline.errors import DataInvalid

__all__ = [
    "QuestionFormat",
    "RecordFormat",
    "Variant",
    "content_id",
    "decode_questions",
    "decode_records",
    "decode_row",
    "distinct",
    "gold_answers",
    "open_records",
    "read_questions",
    "read_records",
    "steps",
]

_DETECTION_ROWS = 100
"""Rows looked at to find the variant: enough to step over a bad start, few enough to hold in memory."""

T = TypeVar("T", bound=msgspec.Struct)
R = TypeVar("R")


@dataclass(frozen=True)
class Variant(Generic[T, R]):
    """One published form of a format."""

    name: str
    """Shown in sources.json."""
    record: type[T]
    """The schema; its required fields tell the variant."""
    normalise: Callable[[T, str, RowLedger], R]
    """(record, where, ledger) to what readers hand on; raises RowError."""

    def required(self) -> frozenset[str]:
        """Keys that every row of this variant has."""
        return frozenset(field.encode_name for field in msgspec.structs.fields(self.record) if field.required)


@dataclass(frozen=True)
class RecordFormat(Generic[R]):
    """A format whose rows stand for themselves."""

    variants: tuple[Variant[Any, R], ...]
    envelope: str | None = None
    """Key of a top-level object that holds the rows, where the official file has one."""
    tabular: bool = False
    """Whether it is also published as CSV or TSV."""


@dataclass(frozen=True)
class QuestionFormat(RecordFormat[Question]):
    """A format of questions."""

    open_domain: bool = False
    """Whether a question may come without documents, to be found in a corpus."""


def open_records(
    path: Path, form: RecordFormat[R], ledger: RowLedger, limit: int | None, on_bytes: OnBytes
) -> tuple[Variant[Any, R], Iterator[RawRow]]:
    """Open a file, tell its variant (noted in the ledger), and return its raw rows.

    Args:
        path: Parquet, JSON array, JSON lines, the format's envelope, or a table where the format has one.
        form: The format.
        ledger: Takes note of table rows that do not fit their header.
        limit: Read only the first `limit` rows; None = all.
        on_bytes: Progress.

    Raises:
        DataInvalid: If the file cannot be read or fits no variant.
    """
    rows = islice(raw_rows(path, on_bytes, ledger, envelope=form.envelope, tabular=form.tabular), limit)
    first = list(islice(rows, _DETECTION_ROWS))
    variant = _detect(path, first, form.variants)
    ledger.variant = variant.name
    return variant, chain(first, rows)


def decode_records(rows: Iterable[RawRow], variant: Variant[Any, R], ledger: RowLedger) -> Iterator[R]:
    """Decode raw rows of one variant; the ledger takes note of every row.

    Raises:
        DataInvalid: If a row is bad and the ledger says fail.
    """
    decoder = msgspec.json.Decoder(variant.record)
    for row in rows:
        ledger.rows += 1
        record = decode_row(row, decoder, ledger)
        if record is None:
            continue
        try:
            found = variant.normalise(record, row.where, ledger)
        except RowError as error:
            ledger.reject(row.where, error.reason, error.detail)
            continue
        yield found


def read_records(
    path: Path, form: RecordFormat[R], ledger: RowLedger, limit: int | None, on_bytes: OnBytes
) -> Iterator[R]:
    """Stream what the rows of a file stand for; arguments and errors as of `open_records` and `decode_records`."""
    variant, rows = open_records(path, form, ledger, limit, on_bytes)
    return decode_records(rows, variant, ledger)


def decode_questions(
    rows: Iterable[RawRow], variant: Variant[Any, Question], ledger: RowLedger, *, open_domain: bool
) -> Iterator[Question]:
    """Decode raw rows as `decode_records`, and check the questions by the rules of all formats."""
    for question in decode_records(rows, variant, ledger):
        try:
            _check(question, ledger, open_domain=open_domain)
        except RowError as error:
            ledger.reject(question.where, error.reason, error.detail)
            continue
        yield question


def read_questions(
    path: Path, form: QuestionFormat, ledger: RowLedger, limit: int | None, on_bytes: OnBytes
) -> Iterator[Question]:
    """Stream the questions of a file, checked by the rules of all formats; as `read_records`."""
    variant, rows = open_records(path, form, ledger, limit, on_bytes)
    return decode_questions(rows, variant, ledger, open_domain=form.open_domain)


def decode_row(row: RawRow, decoder: msgspec.json.Decoder[T], ledger: RowLedger) -> T | None:
    """Decode a row, or refuse it and return None.

    Raises:
        DataInvalid: If the ledger says fail, or the row's syntax makes the rest of an array unreadable.
    """
    try:
        return decoder.decode(row.data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if row.in_array and not readable(row.data):
            raise DataInvalid(
                f"broken JSON: {error}",
                where=row.where,
                next_step="repair the file: inside an array a broken object hides where the next one starts",
            ) from error
        reason = "wrong_schema" if isinstance(error, msgspec.ValidationError) else "invalid_json"
        ledger.reject(row.where, reason, str(error))
        return None


def distinct(values: Iterable[str]) -> list[str]:
    """Return the non-blank values, stripped, each once, in their order."""
    return list(dict.fromkeys(stripped for value in values if (stripped := value.strip())))


def content_id(*parts: str) -> str:
    """Return an id for what has none in its source: 16 hex digits of SHA-256 over the parts, NUL between them."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def steps(values: Iterable[str]) -> list[str]:
    """Return the non-blank reasoning steps, stripped; a repeated step stays, for the count is the number of hops.

    Raises:
        RowError: If there are more than the schema's int8 can count.
    """
    found = [stripped for value in values if (stripped := value.strip())]
    if len(found) > 127:
        raise RowError("too_many_steps", f"{len(found)} reasoning steps")
    return found


def gold_answers(values: Sequence[str] | None) -> list[str]:
    """Return canonical answer and aliases; None, as in test sets without answers, gives an empty list.

    Raises:
        RowError: If answers are given, but all are blank.
    """
    if values is None:
        return []
    answers = distinct(values)
    if not answers:
        raise RowError("blank_answer", "the answer is given, but blank")
    return answers


def _detect(path: Path, rows: Sequence[RawRow], variants: Sequence[Variant[Any, R]]) -> Variant[Any, R]:
    keys: frozenset[str] | None = None
    for row in rows:
        try:
            found = frozenset(msgspec.json.decode(row.data, type=dict[str, msgspec.Raw]))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        fitting = [variant for variant in variants if variant.required() <= found]
        if fitting:
            return next((variant for variant in fitting if _decodes(row, variant)), fitting[0])
        keys = keys or found
    if keys is None:
        raise DataInvalid(
            f"none of the first {len(rows)} rows is a JSON object" if rows else "the file has no rows",
            where=str(path),
            next_step="check the source's path and format",
        )
    lacks = "; ".join(f"{v.name} lacks {', '.join(sorted(v.required() - keys))}" for v in variants)
    raise DataInvalid(
        f"the rows fit no known form of this format ({lacks})",
        where=str(path),
        next_step=f"check the source's format; the first row has the keys {', '.join(sorted(keys))[:300]}",
    )


def _decodes(row: RawRow, variant: Variant[Any, R]) -> bool:
    try:
        msgspec.json.decode(row.data, type=variant.record)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _check(question: Question, ledger: RowLedger, *, open_domain: bool) -> None:
    """Rules that hold for questions of every format."""
    if not question.source_id.strip():
        raise RowError("blank_id", "the id is blank")
    if not question.question.strip():
        raise RowError("blank_question", f"the question of {question.source_id} is blank")
    if not question.texts and not open_domain:
        raise RowError("no_documents", f"{question.source_id} has no documents")
    if "\0" in question.source_id:
        raise RowError("nul_character", "the id holds a NUL character")
    ledger.check_documents(question.source_id, question.titles, question.texts)
    ledger.notice("empty_documents", sum(not text or text.isspace() for text in question.texts))

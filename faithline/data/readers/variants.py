"""Reading a format that exists in several variants (official release, processed form): which one shows in its keys.

A `Variant` is a typed record of the published schema and a pure function from it to a `Question`. The first row that
has all required keys of a variant decides; every other row must fit it too. Keys that a schema does not name are
ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from faithline.data.readers.json_rows import OnBytes, RawRow, json_rows, readable
from faithline.data.readers.ledger import RowError, RowLedger
from faithline.data.readers.records import Question
from faithline.pipeline.errors import DataInvalid

__all__ = ["QuestionFormat", "Variant", "decode_row", "distinct", "gold_answers", "read_questions", "steps"]

_DETECTION_ROWS = 100
"""Rows looked at to find the variant: enough to step over a bad start, few enough to hold in memory."""

T = TypeVar("T", bound=msgspec.Struct)


@dataclass(frozen=True)
class Variant(Generic[T]):
    """One published form of a format."""

    name: str
    """Shown in sources.json."""
    record: type[T]
    """The schema; its required fields tell the variant."""
    normalise: Callable[[T, str, RowLedger], Question]
    """(record, where, ledger) to a question; raises RowError."""

    def required(self) -> frozenset[str]:
        """Keys that every row of this variant has."""
        return frozenset(field.encode_name for field in msgspec.structs.fields(self.record) if field.required)


@dataclass(frozen=True)
class QuestionFormat:
    """A format of questions with documents."""

    variants: tuple[Variant[Any], ...]
    envelope: str | None = None
    """Key of a top-level object that holds the rows, where the official file has one."""


def read_questions(
    path: Path, form: QuestionFormat, ledger: RowLedger, limit: int | None, on_bytes: OnBytes
) -> Iterator[Question]:
    """Stream the questions of a file.

    Args:
        path: JSON array, JSON lines, or the format's envelope.
        form: The format.
        ledger: Takes note of every row.
        limit: Read only the first `limit` rows; None = all.
        on_bytes: Progress.

    Raises:
        DataInvalid: If the file cannot be read, fits no variant, or has a bad row and the ledger says fail.
    """
    rows = islice(json_rows(path, on_bytes, form.envelope), limit)
    first = list(islice(rows, _DETECTION_ROWS))
    variant = _detect(path, first, form.variants)
    ledger.variant = variant.name
    decoder = msgspec.json.Decoder(variant.record)
    for row in chain(first, rows):
        ledger.rows += 1
        record = decode_row(row, decoder, ledger)
        if record is None:
            continue
        try:
            question = variant.normalise(record, row.where, ledger)
            _check(question, ledger)
        except RowError as error:
            ledger.reject(row.where, error.reason, error.detail)
            continue
        yield question


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


def _detect(path: Path, rows: Sequence[RawRow], variants: Sequence[Variant[Any]]) -> Variant[Any]:
    keys: frozenset[str] | None = None
    for row in rows:
        try:
            found = frozenset(msgspec.json.decode(row.data, type=dict[str, msgspec.Raw]))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        for variant in variants:
            if variant.required() <= found:
                return variant
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


def _check(question: Question, ledger: RowLedger) -> None:
    """Rules that hold for questions of every format."""
    if not question.source_id.strip():
        raise RowError("blank_id", "the id is blank")
    if not question.question.strip():
        raise RowError("blank_question", f"the question of {question.source_id} is blank")
    if not question.texts:
        raise RowError("no_documents", f"{question.source_id} has no documents")
    if "\0" in question.source_id or any("\0" in title for title in question.titles):
        # NUL separates title and text in a document's digest.
        raise RowError("nul_character", f"an id or title of {question.source_id} holds a NUL character")
    ledger.notice("empty_documents", sum(not text or text.isspace() for text in question.texts))

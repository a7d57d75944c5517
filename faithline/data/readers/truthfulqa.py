"""TruthfulQA's CSV: true and false reference answers per question.

Two releases are in use: 790 questions with a column "Best Incorrect Answer", and 817 without it. Answers are separated
by semicolons. The file has no ids, so a question's id is a hash of its text. A CSV whose quoting breaks is refused
whatever on_invalid says: where the next row starts is then a guess.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from faithline.data.readers.json_rows import OnBytes, open_blocks
from faithline.data.readers.ledger import RowError, RowLedger
from faithline.data.readers.records import Claim
from faithline.data.readers.variants import distinct
from faithline.pipeline.errors import DataInvalid

__all__ = ["read_claims"]

_COLUMNS = ("Category", "Question", "Best Answer", "Correct Answers", "Incorrect Answers")
_BEST_INCORRECT = "Best Incorrect Answer"
_MAX_CELL = 2**24
"""Characters of one cell; Python's own limit of 131,072 is not far above a long source list."""


def read_claims(path: Path, ledger: RowLedger, limit: int | None, on_bytes: OnBytes) -> Iterator[list[Claim]]:
    """Stream the claims of a file, one list per question.

    Args:
        path: The CSV.
        ledger: Takes note of every row.
        limit: Read only the first `limit` questions; None = all.
        on_bytes: Progress.

    Raises:
        DataInvalid: If the file cannot be read, lacks a column, or has a bad row and the ledger says fail.
    """
    rows = _rows(path, on_bytes)
    names = [name.strip() for name in next(rows, (1, []))[1]]
    missing = [name for name in _COLUMNS if name not in names]
    if missing:
        raise DataInvalid(
            f"not a TruthfulQA file: no column {', '.join(missing)}",
            where=f"{path}:1",
            next_step=f"check the source's format; the columns are {', '.join(names)[:300]}",
        )
    ledger.variant = "790" if _BEST_INCORRECT in names else "817"
    for line, cells in islice(rows, limit):
        where = f"{path}:{line}"
        ledger.rows += 1
        try:
            claims = _claims(_named(names, cells), where, ledger)
        except RowError as error:
            ledger.reject(where, error.reason, error.detail)
            continue
        yield claims


def _rows(path: Path, on_bytes: OnBytes) -> Iterator[tuple[int, list[str]]]:
    """Yield the line each non-blank row starts at, and its cells."""
    csv.field_size_limit(_MAX_CELL)
    reader = csv.reader(_lines(path, on_bytes), strict=True)
    start = 1
    try:
        for cells in reader:
            if cells:
                yield start, cells
            start = reader.line_num + 1
    except csv.Error as error:
        raise DataInvalid(
            f"broken CSV: {error}",
            where=f"{path}:{start}",
            next_step="repair the quoting: after a broken quote no row can be trusted",
        ) from error


def _lines(path: Path, on_bytes: OnBytes) -> Iterator[str]:
    """Decode line by line, line ends kept, so that line breaks inside quotes survive."""
    buffer = b""
    number = 0
    for block in open_blocks(path, on_bytes):
        lines = io.BytesIO(buffer + block).readlines()
        buffer = b"" if lines[-1].endswith(b"\n") else lines.pop()
        for line in lines:
            number += 1
            yield _decoded(line, path, number)
    if buffer:
        yield _decoded(buffer, path, number + 1)


def _decoded(line: bytes, path: Path, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataInvalid(
            f"not UTF-8: {error.reason}", where=f"{path}:{number}", next_step="convert the file to UTF-8"
        ) from error


def _named(names: Sequence[str], cells: Sequence[str]) -> dict[str, str]:
    if len(cells) != len(names):
        raise RowError("wrong_schema", f"{len(cells)} cells under {len(names)} columns")
    return dict(zip(names, cells, strict=True))


def _claims(row: dict[str, str], where: str, ledger: RowLedger) -> list[Claim]:
    question = row["Question"].strip()
    if not question:
        raise RowError("blank_question", "the question is blank")
    correct = _listed(row["Correct Answers"], row["Best Answer"], ledger)
    incorrect = _listed(row["Incorrect Answers"], row.get(_BEST_INCORRECT, ""), ledger)
    if not correct or not incorrect:
        raise RowError("blank_answer", "no correct answer" if not correct else "no incorrect answer")
    ledger.notice("answers_both_true_and_false", len(set(correct) & set(incorrect)))
    source_id = hashlib.sha256(question.encode()).hexdigest()[:16]
    return [
        Claim(
            where=where,
            source_id=source_id,
            category=row["Category"].strip(),
            question=question,
            answer=answer,
            position=position,
            truthful=truthful,
            best=answer == best,
        )
        for truthful, answers, best in (
            (True, correct, row["Best Answer"].strip()),
            (False, incorrect, row.get(_BEST_INCORRECT, "").strip()),
        )
        for position, answer in enumerate(answers)
    ]


def _listed(cell: str, best: str, ledger: RowLedger) -> list[str]:
    """Split a cell of answers; the best one is put first if the list lacks it."""
    parts = [part.strip() for part in cell.split(";")]
    answers = distinct(parts)
    ledger.notice("answers_listed_twice", sum(map(bool, parts)) - len(answers))
    if best.strip() and best.strip() not in answers:
        ledger.notice("best_answers_not_listed")
        answers.insert(0, best.strip())
    return answers

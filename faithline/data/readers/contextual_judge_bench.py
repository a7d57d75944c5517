"""ContextualJudgeBench: pairs of responses to a question with context, the first better by the criterion of its split.

The eight splits are criterion and task in one word (completeness_qa, refusal_unanswerable, ...). A row names its split,
or its file does: hubs serve one file a split, whose name starts with it. A folder of such files is one source. The
publisher's question ids are not unique: an id is a hash of everything judged, and the split is dealt by question and
context.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec

from faithline.data.readers.json_rows import OnBytes
from faithline.data.readers.ledger import RowError, RowLedger
from faithline.data.readers.records import Judgement
from faithline.data.readers.variants import RecordFormat, Variant, content_id, read_records

__all__ = ["judgement_files", "read_judgements"]

_SPLITS = {
    "completeness_qa": ("completeness", "qa"),
    "completeness_summ": ("completeness", "summary"),
    "conciseness_qa": ("conciseness", "qa"),
    "conciseness_summ": ("conciseness", "summary"),
    "faithfulness_qa": ("faithfulness", "qa"),
    "faithfulness_summ": ("faithfulness", "summary"),
    "refusal_answerable": ("refusal_answerable", "qa"),
    "refusal_unanswerable": ("refusal_unanswerable", "qa"),
}
"""Name of a split to criterion and task."""


class _Pair(msgspec.Struct, gc=False):
    """One row."""

    question: str
    context: str
    positive_response: str
    negative_response: str
    problem_id: int | str = ""
    question_id: int | str = ""
    split: str = ""


def judgement_files(path: Path) -> list[Path]:
    """Return the files of a folder whose names start with a split, or the one file."""
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.iterdir() if file.is_file() and _split_of(file))


def read_judgements(path: Path, ledger: RowLedger, limit: int | None, on_bytes: OnBytes) -> Iterator[Judgement]:
    """Stream the pairs of a folder of splits or of one file; `limit` counts per file.

    Raises:
        DataInvalid: If a file cannot be read or fits no known form, or has a bad row and the ledger says fail.
    """
    for file in judgement_files(path):
        form = RecordFormat(variants=(Variant("pairs", _Pair, partial(_normalise, _split_of(file))),))
        yield from read_records(file, form, ledger, limit, on_bytes)


def _split_of(file: Path) -> str:
    return next((split for split in _SPLITS if file.name.startswith(split)), "")


def _normalise(split_of_file: str, row: _Pair, where: str, ledger: RowLedger) -> Judgement:
    split = row.split or split_of_file
    if split not in _SPLITS:
        raise RowError(
            "unknown_split", f"the split is {split!r}; neither a column `split` nor the file's name is one of the eight"
        )
    criterion, task = _SPLITS[split]
    for name, text in (("question", row.question), ("context", row.context)):
        if not text.strip() and not (name == "question" and task == "summary"):
            raise RowError("blank_source", f"the {name} is blank")
    if row.positive_response == row.negative_response:
        raise RowError("equal_responses", "both responses are the same text: neither can be the better one")
    source_id = content_id(row.question, row.context)
    ledger.check_documents(source_id, [""], [row.context])
    return Judgement(
        where=where,
        judgement_id=content_id(split, row.question, row.context, row.positive_response, row.negative_response),
        source_id=source_id,
        origin=str(row.problem_id or row.question_id),
        task=task,
        criterion=criterion,
        query=row.question.strip(),
        titles=[""],
        texts=[row.context],
        preferred=row.positive_response,
        rejected=row.negative_response,
    )

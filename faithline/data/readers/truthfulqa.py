"""TruthfulQA: true and false reference answers per question, from all its published forms.

The CSV has 790 questions and a column "Best Incorrect Answer", or 817 without it; answers are separated by semicolons.
The hub's `generation` table has lists instead. Multiple choice (mc_task.json, the hub's `multiple_choice` table) has
choices with labels; the choice that MC1 calls right is the best answer. Published MC lists hold the right choice first:
positions say where an answer stood, and whoever shows choices must shuffle them. No form has ids, so a question's id is
a hash of its text, the same in all forms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from faithline.data.readers.json_rows import OnBytes
from faithline.data.readers.ledger import RowError, RowLedger
from faithline.data.readers.records import Claim
from faithline.data.readers.variants import RecordFormat, Variant, content_id, distinct, read_records

__all__ = ["read_claims"]


class _Short(msgspec.Struct, gc=False):
    """One row of the CSV of 817 questions."""

    category: str = msgspec.field(name="Category")
    question: str = msgspec.field(name="Question")
    best: str = msgspec.field(name="Best Answer")
    correct: str = msgspec.field(name="Correct Answers")
    incorrect: str = msgspec.field(name="Incorrect Answers")


class _Long(_Short, gc=False):
    """One row of the CSV of 790 questions."""

    best_incorrect: str = msgspec.field(name="Best Incorrect Answer")


class _Generation(msgspec.Struct, gc=False):
    """One row of the hub's table `generation`."""

    question: str
    best_answer: str
    correct_answers: list[str]
    incorrect_answers: list[str]
    category: str = ""


class _Choices(msgspec.Struct, gc=False):
    choices: list[str]
    labels: list[int]


class _HubChoice(msgspec.Struct, gc=False):
    """One row of the hub's table `multiple_choice`."""

    question: str
    mc1_targets: _Choices
    mc2_targets: _Choices


class _MultipleChoice(msgspec.Struct, gc=False):
    """One element of mc_task.json."""

    question: str
    mc1_targets: dict[str, int]
    """Choice to 1 (right) or 0; one is right."""
    mc2_targets: dict[str, int]
    """The same, several may be right."""


def read_claims(path: Path, ledger: RowLedger, limit: int | None, on_bytes: OnBytes) -> Iterator[list[Claim]]:
    """Stream the claims of a file, one list per question.

    Args:
        path: The file, in any of the forms.
        ledger: Takes note of every row.
        limit: Read only the first `limit` questions; None = all.
        on_bytes: Progress.

    Raises:
        DataInvalid: If the file cannot be read, fits no form, or has a bad row and the ledger says fail.
    """
    return read_records(path, _FORMS, ledger, limit, on_bytes)


def _from_csv(row: _Short, where: str, ledger: RowLedger) -> list[Claim]:
    best_incorrect = row.best_incorrect if isinstance(row, _Long) else ""
    correct = _listed(row.correct.split(";"), row.best, ledger)
    incorrect = _listed(row.incorrect.split(";"), best_incorrect, ledger)
    return _claims(
        where,
        row.category,
        row.question,
        correct=(correct, row.best),
        incorrect=(incorrect, best_incorrect),
        ledger=ledger,
    )


def _from_generation(row: _Generation, where: str, ledger: RowLedger) -> list[Claim]:
    correct = _listed(row.correct_answers, row.best_answer, ledger)
    incorrect = _listed(row.incorrect_answers, "", ledger)
    return _claims(
        where,
        row.category,
        row.question,
        correct=(correct, row.best_answer),
        incorrect=(incorrect, ""),
        ledger=ledger,
    )


def _from_choices(row: _HubChoice | _MultipleChoice, where: str, ledger: RowLedger) -> list[Claim]:
    single, several = _labelled(row.mc1_targets), _labelled(row.mc2_targets)
    best = [choice for choice, right in single if right]
    if len(best) != 1:
        raise RowError("wrong_schema", f"mc1_targets has {len(best)} right choices, not one")
    correct, incorrect = (
        distinct(choice for choice, right in [*single, *several] if right == kind) for kind in (True, False)
    )
    return _claims(where, "", row.question, correct=(correct, best[0]), incorrect=(incorrect, ""), ledger=ledger)


def _labelled(targets: _Choices | dict[str, int]) -> list[tuple[str, bool]]:
    if isinstance(targets, dict):
        pairs = list(targets.items())
    elif len(targets.choices) == len(targets.labels):
        pairs = list(zip(targets.choices, targets.labels, strict=True))
    else:
        raise RowError("wrong_schema", f"{len(targets.choices)} choices have {len(targets.labels)} labels")
    if any(label not in {0, 1} for _, label in pairs):
        raise RowError("wrong_schema", "a label is neither 0 nor 1")
    return [(choice, bool(label)) for choice, label in pairs]


def _claims(
    where: str,
    category: str,
    question: str,
    *,
    correct: tuple[Sequence[str], str],
    incorrect: tuple[Sequence[str], str],
    ledger: RowLedger,
) -> list[Claim]:
    """Build the claims of one question from (answers, the best of them) of either kind."""
    question = question.strip()
    if not question:
        raise RowError("blank_question", "the question is blank")
    if not correct[0] or not incorrect[0]:
        raise RowError("blank_answer", "no correct answer" if not correct[0] else "no incorrect answer")
    ledger.notice("answers_both_true_and_false", len(set(correct[0]) & set(incorrect[0])))
    source_id = content_id(question)
    return [
        Claim(
            where=where,
            source_id=source_id,
            category=category.strip(),
            question=question,
            answer=answer,
            position=position,
            truthful=truthful,
            best=answer == best.strip(),
        )
        for truthful, (answers, best) in ((True, correct), (False, incorrect))
        for position, answer in enumerate(answers)
    ]


def _listed(parts: Sequence[str], best: str, ledger: RowLedger) -> list[str]:
    """Clean a list of answers; the best one is put first if the list lacks it."""
    answers = distinct(parts)
    ledger.notice("answers_listed_twice", sum(bool(part.strip()) for part in parts) - len(answers))
    if best.strip() and best.strip() not in answers:
        ledger.notice("best_answers_not_listed")
        answers.insert(0, best.strip())
    return answers


_FORMS = RecordFormat(
    variants=(
        Variant("790", _Long, _from_csv),
        Variant("817", _Short, _from_csv),
        Variant("generation", _Generation, _from_generation),
        Variant("multiple_choice", _MultipleChoice, _from_choices),
        Variant("hub_multiple_choice", _HubChoice, _from_choices),
    ),
    tabular=True,
)

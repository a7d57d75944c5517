"""Checks: what must hold of the measures, built from the schema, the declared sets and the limits of `params.yaml`.

Two suites are about the tables as a whole (layout, values), one is about each set. Some checks are invariants of the
schema and have no setting: ids are unique, what is pointed at exists, an answerable question has an answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from faithline.data.schema import SPLITS, TABLES
from faithline.gates import row_measures as row
from faithline.gates import table_measures as measure
from faithline.gates.limits import Limits, SizeRange
from faithline.gates.noise_figures import LEAKED_EXACT, LEAKED_NGRAM, NEAR_DUPLICATES
from faithline.gates.profile import ID_COLUMNS, NULL_ITEMS, NULLABLE_ITEMS, NULLS, TYPE, UNKNOWN_SETS, Declared
from faithline.gates.tally import Profile, show

__all__ = ["Between", "Check", "Equals", "Exists", "Suite", "layout_checks", "set_checks", "values_checks"]


@dataclass(frozen=True)
class Exists:
    """A column is there."""

    column: str

    @property
    def measure(self) -> str:
        """What is judged, for messages."""
        return "column"

    @property
    def limit(self) -> str:
        """What was demanded, for messages."""
        return "present"


@dataclass(frozen=True)
class Equals:
    """A measure of a column is a certain text."""

    column: str
    measure: str
    expected: str

    @property
    def limit(self) -> str:
        """What was demanded, for messages."""
        return self.expected


@dataclass(frozen=True)
class Between:
    """A measure of a column lies within bounds, both allowed; None = no bound."""

    column: str
    measure: str
    least: float | None
    most: float | None

    @property
    def limit(self) -> str:
        """What was demanded, for messages."""
        if self.least is None:
            return f"at most {show(self.most)}"
        if self.most is None:
            return f"at least {show(self.least)}"
        return show(self.most) if self.least == self.most else f"{show(self.least)} to {show(self.most)}"


Check = Exists | Equals | Between


@dataclass(frozen=True)
class Suite:
    """Checks and the measures they are evaluated on."""

    name: str
    checks: tuple[Check, ...]
    profile: Profile


def layout_checks(declared: Declared) -> tuple[Check, ...]:
    """Every column exists and is of its type; a table that some set fills has rows."""
    checks: list[Check] = []
    for table, schema in TABLES.items():
        for field in schema:
            column = f"{table}.{field.name}"
            checks += [Exists(column), Equals(column, TYPE, str(field.type))]
        if any(table in tables for tables in declared.values()):
            checks.append(_at_least(f"{table}.{ID_COLUMNS[table]}", row.ROWS, 1))
    return tuple(checks)


def values_checks() -> tuple[Check, ...]:
    """Required columns hold no null, and every row belongs to a declared set."""
    checks: list[Check] = []
    for table, schema in TABLES.items():
        checks.append(_none(f"{table}.set", UNKNOWN_SETS))
        for field in schema:
            column = f"{table}.{field.name}"
            if not field.nullable:
                checks.append(_none(column, NULLS))
            if pa.types.is_list(field.type) and field.name not in NULLABLE_ITEMS:
                checks.append(_none(column, NULL_ITEMS))
    return tuple(checks)


def set_checks(limits: Limits, tables: Mapping[str, int | None]) -> tuple[Check, ...]:
    """All checks of one set.

    Args:
        limits: The set's limits.
        tables: The tables it fills, with the number of rows its reader kept, None where that is not known.
    """
    builders = {
        "questions": _questions,
        "documents": _documents,
        "claims": _claims,
        "responses": _responses,
        "judgements": _judgements,
    }
    checks: list[Check] = []
    for table, rows in tables.items():
        identity = f"{table}.{ID_COLUMNS[table]}"
        checks.append(_at_least(identity, row.ROWS, 1) if rows is None else Between(identity, row.ROWS, rows, rows))
        checks += [_none(identity, row.REPEATED), _none(identity, row.OUTSIDE)]
        if table != "documents":
            checks += _splits(table, limits)
        checks += builders[table](limits)
    return tuple(checks)


def _splits(table: str, limits: Limits) -> Iterator[Check]:
    yield _none(f"{table}.split", row.UNKNOWN_SPLITS)
    if limits.min_rows is not None:
        for split in SPLITS:
            yield _at_least(f"{table}.split", row.rows_in(split), getattr(limits.min_rows, split))


def _questions(limits: Limits) -> Iterator[Check]:
    yield _none("questions.question", row.BLANK)
    yield from _lengths("questions.question", limits.question_characters)
    yield from _leakage("questions.question", limits)
    yield _none("questions.answers", measure.UNANSWERED)
    yield _none("questions.answers", measure.BLANK_ANSWERS)
    yield from _at_most("questions.answerable", measure.UNANSWERABLE, limits.max_unanswerable)
    yield from _at_most("questions.hops", measure.UNKNOWN, limits.max_unknown_hops)
    if limits.documents_per_question is not None:
        fewest, most = limits.documents_per_question
        yield _at_least("questions.documents", measure.FEWEST, fewest)
        yield from _at_most("questions.documents", measure.MOST, most)
    yield _none("questions.documents", measure.MISSING_DOCUMENTS)
    yield _none("questions.supporting", measure.MISALIGNED)
    yield from _at_most("questions.supporting", measure.UNKNOWN, limits.max_unknown_supporting)
    yield from _between("questions.supporting", measure.IRRELEVANT, limits.irrelevant_share)


def _documents(limits: Limits) -> Iterator[Check]:
    yield from _at_most("documents.text", row.LONGEST, limits.max_document_characters)
    yield from _at_most("documents.text", measure.EMPTY, limits.max_empty_documents)
    yield from _at_most("documents.text", NEAR_DUPLICATES, limits.max_near_duplicates)


def _claims(limits: Limits) -> Iterator[Check]:
    yield _none("claims.question_id", row.SEVERAL_SPLITS)
    yield _none("claims.question", row.BLANK)
    yield from _lengths("claims.question", limits.question_characters)
    yield from _leakage("claims.question", limits)
    yield _none("claims.answer", row.BLANK)
    yield from _between("claims.truthful", measure.TRUTHFUL, limits.truthful_share)


def _responses(limits: Limits) -> Iterator[Check]:
    yield _none("responses.source_id", row.SEVERAL_SPLITS)
    yield _none("responses.task", measure.UNKNOWN_TASKS)
    yield _none("responses.documents", measure.MISSING_DOCUMENTS)
    yield from _leakage("responses.documents", limits)
    yield from _at_most("responses.response", measure.EMPTY, limits.max_blank_responses)
    yield from _at_most("responses.labels", measure.MISMATCHED, limits.max_mismatched_labels)


def _judgements(limits: Limits) -> Iterator[Check]:
    yield _none("judgements.source_id", row.SEVERAL_SPLITS)
    yield _none("judgements.task", measure.UNKNOWN_TASKS)
    yield _none("judgements.criterion", measure.UNKNOWN_CRITERIA)
    yield _none("judgements.documents", measure.MISSING_DOCUMENTS)
    yield from _leakage("judgements.documents", limits)
    yield _none("judgements.preferred", row.BLANK)
    yield _none("judgements.rejected", row.BLANK)
    yield _none("judgements.rejected", measure.EQUAL)


def _leakage(column: str, limits: Limits) -> Iterator[Check]:
    yield from _at_most(column, LEAKED_EXACT, limits.max_leaked_exact)
    yield from _at_most(column, LEAKED_NGRAM, limits.max_leaked_ngram)


def _lengths(column: str, bounds: SizeRange | None) -> Iterator[Check]:
    if bounds is not None:
        yield _at_least(column, row.SHORTEST, bounds[0])
        yield from _at_most(column, row.LONGEST, bounds[1])


def _none(column: str, name: str) -> Between:
    return Between(column, name, 0, 0)


def _at_least(column: str, name: str, least: float) -> Between:
    return Between(column, name, least, None)


def _at_most(column: str, name: str, most: float | None) -> Iterator[Check]:
    if most is not None:
        yield Between(column, name, None, most)


def _between(column: str, name: str, bounds: SizeRange | None) -> Iterator[Check]:
    if bounds is not None:
        yield Between(column, name, *bounds)

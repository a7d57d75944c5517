"""Every check on a passing and on a failing table, judged by Great Expectations; nothing else may fail with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from faithline.gates.checks import Check, Suite, set_checks, values_checks
from faithline.gates.limits import Gates, limits_of
from faithline.gates.noise_figures import NoiseFigures, with_noise
from faithline.gates.outcome import SuiteOutcome
from faithline.gates.profile import Declared, measure
from faithline.gates.tally import Measured

Rows = dict[str, list[dict[str, Any]]]
ALL = 1000
CLEAN = NoiseFigures(near_duplicates=0.0, leaked_exact=0.0, leaked_ngram=0.0)


@dataclass(frozen=True)
class Case:
    """A way to break the tables, and what must fail: suite, column, measure, observed value."""

    table: str
    columns: dict[str, Any]
    failures: set[tuple[str, str, str, float | None]]
    rows: int = 1
    """The first so many rows are broken."""
    noise: NoiseFigures = CLEAN


ONE_QUESTION_LESS = {("hop", "questions.question_id", "rows", 9.0), ("hop", "questions.split", "rows in train", 5.0)}

CASES = {
    # the registry of sets equals the values in the tables (fault 26)
    "empty_set": Case(
        "questions", {"set": ""}, ONE_QUESTION_LESS | {("_values", "questions.set", "rows of unknown sets", 1)}
    ),
    "unknown_set": Case(
        "questions", {"set": "hip"}, ONE_QUESTION_LESS | {("_values", "questions.set", "rows of unknown sets", 1)}
    ),
    "null_set": Case(
        "questions",
        {"set": None},
        ONE_QUESTION_LESS
        | {("_values", "questions.set", "rows of unknown sets", 1), ("_values", "questions.set", "null values", 1)},
    ),
    # nulls where the schema allows none
    "null_question": Case(
        "questions", {"question": None}, ONE_QUESTION_LESS | {("_values", "questions.question", "null values", 1)}
    ),
    "null_answer": Case(
        "questions",
        {"answers": ["a", None]},
        ONE_QUESTION_LESS | {("_values", "questions.answers", "lists with a null item", 1)},
    ),
    "all_null_text": Case(
        "documents",
        {"text": None},
        {
            ("_values", "documents.text", "null values", 60),
            ("hop", "documents.document_id", "rows", 0),
            ("rag", "documents.document_id", "rows", 0),
            ("bench", "documents.document_id", "rows", 0),
            ("bench", "judgements.documents", "ids that no document has", 10),
            *(
                (name, "documents.document_id", text, None)
                for name in ("hop", "rag", "bench")
                for text in ("repeated ids", "ids outside the set")
            ),
            *(
                (name, "documents.text", text, None)
                for name in ("hop", "rag", "bench")
                for text in ("longest (characters)", "share blank")
            ),
            ("hop", "questions.documents", "ids that no document has", 40),
            ("rag", "responses.documents", "ids that no document has", 20),
        },
        rows=ALL,
    ),
    "null_label": Case(
        "responses",
        {"labels": [{"start": 1, "end": 2, "text": None, "type": "", "implicit_true": False, "due_to_null": False}]},
        {
            ("_values", "responses.labels", "lists with a null item", 1),
            ("rag", "responses.response_id", "rows", 19),
        },
    ),
    # ids and splits
    "repeated_id": Case("questions", {"question_id": "hop/q9"}, {("hop", "questions.question_id", "repeated ids", 1)}),
    "foreign_id": Case(
        "questions", {"question_id": "hip/q0"}, {("hop", "questions.question_id", "ids outside the set", 1)}
    ),
    "unknown_split": Case(
        "questions",
        {"split": "dev"},
        {("hop", "questions.split", "unknown splits", 1), ("hop", "questions.split", "rows in train", 5)},
    ),
    "claims_of_a_question_in_two_splits": Case(
        "claims",
        {"split": "test"},
        {("truth", "claims.question_id", "ids in several splits", 1)},
    ),
    "responses_to_a_source_in_two_splits": Case(
        "responses", {"split": "validation"}, {("rag", "responses.source_id", "ids in several splits", 1)}
    ),
    # questions
    "blank_question": Case(
        "questions", {"question": " \t\u3000" * 4}, {("hop", "questions.question", "blank values", 1)}
    ),
    "short_question": Case(
        "questions", {"question": "Where?"}, {("hop", "questions.question", "shortest (characters)", 6)}
    ),
    "long_question": Case(
        "questions", {"question": "é" * 101}, {("hop", "questions.question", "longest (characters)", 101)}
    ),
    "no_answer": Case(
        "questions", {"answers": []}, {("hop", "questions.answers", "answerable questions without an answer", 1)}
    ),
    "blank_answer": Case(
        "questions", {"answers": ["a", " "]}, {("hop", "questions.answers", "questions with a blank answer", 1)}
    ),
    "unanswerable": Case(
        "questions",
        {"answers": [], "answerable": False},
        {("hop", "questions.answerable", "share unanswerable", 0.2)},
        rows=2,
    ),
    "all_null_hops": Case("questions", {"hops": None}, {("hop", "questions.hops", "share unknown", 1.0)}, rows=ALL),
    "no_documents": Case(
        "questions",
        {"documents": [], "supporting": []},
        {("hop", "questions.documents", "fewest per question", 0)},
    ),
    "missing_document": Case(
        "documents",
        {"document_id": "hop/0000000000000000"},
        {("hop", "questions.documents", "ids that no document has", 1)},
    ),
    "misaligned": Case(
        "questions",
        {"supporting": [True, False, False]},
        {("hop", "questions.supporting", "lists of another length than documents", 1)},
    ),
    "all_null_supporting": Case(
        "questions",
        {"supporting": [None] * 4},
        {
            ("hop", "questions.supporting", "share unknown", 1.0),
            ("hop", "questions.supporting", "share irrelevant", None),
        },
        rows=ALL,
    ),
    "too_relevant": Case(
        "questions",
        {"supporting": [True] * 4},
        {("hop", "questions.supporting", "share irrelevant", 0.6)},
        rows=2,
    ),
    # documents
    "empty_document": Case("documents", {"text": " "}, {("hop", "documents.text", "share blank", 1 / 40)}),
    "absurdly_long_document": Case(
        "documents", {"text": "x" * 10**6}, {("hop", "documents.text", "longest (characters)", 10**6)}
    ),
    "near_duplicates": Case(
        "documents",
        {},
        {
            ("hop", "documents.text", "share of near-duplicates", 0.2),
            ("rag", "documents.text", "share of near-duplicates", 0.2),
            ("bench", "documents.text", "share of near-duplicates", 0.2),
        },
        noise=NoiseFigures(near_duplicates=0.2, leaked_exact=0.0, leaked_ngram=0.0),
    ),
    "leaked": Case(
        "documents",
        {},
        {
            (name, column, f"share leaked ({kind})", value)
            for name, column in (
                ("hop", "questions.question"),
                ("truth", "claims.question"),
                ("rag", "responses.documents"),
                ("bench", "judgements.documents"),
            )
            for kind, value in (("exact", 0.1), ("n-gram", 0.2))
        },
        noise=NoiseFigures(near_duplicates=0.0, leaked_exact=0.1, leaked_ngram=0.2),
    ),
    "noise_not_measured": Case(
        "documents",
        {},
        {
            ("hop", "documents.text", "share of near-duplicates", None),
            ("rag", "documents.text", "share of near-duplicates", None),
            ("bench", "documents.text", "share of near-duplicates", None),
        },
        noise=NoiseFigures(near_duplicates=None, leaked_exact=0.0, leaked_ngram=0.0),
    ),
    # claims
    "blank_claim": Case("claims", {"answer": ""}, {("truth", "claims.answer", "blank values", 1)}),
    "all_true": Case("claims", {"truthful": True}, {("truth", "claims.truthful", "share truthful", 1.0)}, rows=ALL),
    # responses
    "unknown_task": Case("responses", {"task": "chat"}, {("rag", "responses.task", "unknown tasks", 1)}),
    "blank_response": Case(
        "responses",
        {"response": "", "labels": []},
        {("rag", "responses.response", "share blank", 0.05)},
    ),
    "label_off_its_text": Case(
        "responses",
        {"response": "It rained 🌧 but did not snow."},
        {("rag", "responses.labels", "share of spans that differ from their text", 0.05)},
    ),
    "label_outside": Case(
        "responses",
        {"response": "It rained."},
        {("rag", "responses.labels", "share of spans that differ from their text", 0.05)},
    ),
    # judgements
    "judgement_in_two_splits": Case(
        "judgements",
        {"source_id": "bench/s9"},
        {("bench", "judgements.source_id", "ids in several splits", 1)},
    ),
    "judgement_of_an_unknown_kind": Case(
        "judgements",
        {"task": "data2txt", "criterion": "style"},
        {
            ("bench", "judgements.task", "unknown tasks", 1),
            ("bench", "judgements.criterion", "unknown criteria", 1),
        },
    ),
    "blank_judgement": Case("judgements", {"preferred": " "}, {("bench", "judgements.preferred", "blank values", 1)}),
    "equal_judgement": Case(
        "judgements", {"rejected": "Hail fell."}, {("bench", "judgements.rejected", "values equal to preferred", 1)}
    ),
}


@pytest.fixture(scope="module")
def outcomes(
    make_tables: Callable[[], Rows],
    write_to: Callable[..., Path],
    settings: Callable[..., Gates],
    declared: Declared,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, SuiteOutcome]:
    """Outcome of the suites of the faultless folder, and of one suite `cases`.

    That one has, for every case, the checks whose measure is not as in the faultless folder, their columns prefixed
    with the case and the suite: Great Expectations takes some 15 ms of CPU time for an expectation.
    """
    from faithline.gates.gx import Judge

    folder, gates = tmp_path_factory.mktemp("cases"), settings()

    def suites(tables: Rows, noise: NoiseFigures) -> list[Suite]:
        found = measure(write_to(folder / "prepared", tables), declared, 16)
        made = [Suite("_values", values_checks(), found.values)]
        for name, own in declared.items():
            profile = with_noise(found.sets[name].profile, own, noise)
            made.append(Suite(name, set_checks(limits_of(gates, name), own), profile))
        return made

    faultless = suites(make_tables(), CLEAN)
    checks: list[Check] = []
    profile: dict[str, Mapping[str, Measured]] = {}
    for case_name, case in CASES.items():
        broken = make_tables()
        for row in broken[case.table][: case.rows]:
            row.update(case.columns)
        for good, bad in zip(faultless, suites(broken, case.noise), strict=True):
            for check in bad.checks:
                column = f"{case_name}/{bad.name}/{check.column}"
                if bad.profile.get(check.column) != good.profile.get(check.column):
                    checks.append(dataclasses.replace(check, column=column))
                    profile[column] = bad.profile.get(check.column, {})
    return Judge(folder / "docs").evaluate([*faultless, Suite("cases", tuple(checks), profile)])


def test_faultless_tables_pass_every_check(outcomes: dict[str, SuiteOutcome]) -> None:
    good = {name: outcome for name, outcome in outcomes.items() if name != "cases"}
    assert all(outcome.passed for outcome in good.values())
    assert {name: outcome.declared for name, outcome in good.items()} == {
        "_values": 56,
        "hop": 28,
        "truth": 15,
        "rag": 20,
        "bench": 22,
    }


@pytest.mark.parametrize("name", CASES)
def test_a_broken_table_fails_exactly_its_checks(outcomes: dict[str, SuiteOutcome], name: str) -> None:
    places = [(failure, failure.column.split("/")) for failure in outcomes["cases"].failed]
    found = {(at[1], at[2], failure.measure, failure.observed) for failure, at in places if at[0] == name}
    assert found == CASES[name].failures


def test_every_broken_check_was_evaluated(outcomes: dict[str, SuiteOutcome]) -> None:
    cases = outcomes["cases"]
    assert not cases.passed
    assert cases.declared == cases.evaluated == cases.held + len(cases.failed)


def test_every_check_was_seen_to_fail(settings: Callable[..., Gates], declared: Declared) -> None:
    checks = {check.measure for tables in declared.values() for check in set_checks(settings().limits, tables)}
    checks |= {check.measure for check in values_checks()}
    seen = {measure for case in CASES.values() for _, _, measure, _ in case.failures}
    # Rows per split are one measure for each split, and the most documents of a question fail with the fewest.
    assert checks - seen == {"rows in validation", "rows in test", "most per question"}

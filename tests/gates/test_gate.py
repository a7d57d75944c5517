"""The gates end to end: what fails, what is said, what is left behind."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from faithline.data.schema import TABLES
from faithline.gates.checks import Between, Suite
from faithline.gates.drift import Drift
from faithline.gates.gate import GateResult, accept_data, check_data, declared_in
from faithline.gates.limits import Gates
from faithline.gates.noise_figures import NoiseFigures
from faithline.gates.outcome import Outcome
from faithline.gates.profile import Declared
from faithline.gates.snapshot import Snapshot, read_snapshot, write_snapshot
from faithline.gates.tally import Measured
from faithline.pipeline.errors import DataInvalid, ExitCode

Rows = dict[str, list[dict[str, Any]]]
Write = Callable[..., Path]
Run = Callable[..., GateResult]


@pytest.fixture(scope="module")
def run(settings: Callable[..., Gates], declared: Declared) -> Run:
    def check(prepared: Path, **changes: Any) -> GateResult:
        accepted = prepared.parent / "accepted.json"
        write_snapshot(accepted, Snapshot(vocabulary_buckets=16, sets={}))
        clean = NoiseFigures(near_duplicates=0.0, leaked_exact=0.0, leaked_ngram=0.0)
        return check_data(
            prepared,
            declared=declared,
            noise=lambda: dict.fromkeys(declared, clean),
            gates=settings(**changes),
            accepted=accepted,
            docs=prepared / "docs",
        )

    return check


@dataclass(frozen=True)
class Runs:
    """Whole runs, for they take some seconds: of faultless tables, and of broken ones twice."""

    folder: Path
    good: GateResult
    bad: GateResult
    bad_again: GateResult
    calls: list[object]
    """What was asked of the network."""


@pytest.fixture(scope="module")
def runs(
    run: Run,
    make_tables: Callable[[], Rows],
    write_to: Callable[..., Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Runs:
    folder, calls = tmp_path_factory.mktemp("runs"), []
    broken = make_tables()
    broken["responses"][3]["labels"][0]["text"] = "and hailed"
    broken["questions"][4]["documents"][0] = "hop/0000000000000000"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", lambda *arguments: calls.append(arguments))
        patch.setattr(socket, "getaddrinfo", lambda *arguments, **_: calls.append(arguments))
        good = run(write_to(folder / "good", make_tables()))
        bad, bad_again = (run(write_to(folder / name, broken)) for name in ("bad", "bad_again"))
    return Runs(folder, good, bad, bad_again, calls)


def without(table: str, column: str) -> dict[str, pa.Schema]:
    schema = TABLES[table]
    return {table: schema.remove(schema.get_field_index(column))}


def nested(table: str, column: str) -> dict[str, pa.Schema]:
    schema = TABLES[table]
    index = schema.get_field_index(column)
    return {table: schema.set(index, pa.field(column, pa.list_(schema.field(column).type)))}


def test_a_missing_column_fails_by_name(tables: Rows, write: Write, run: Run) -> None:
    for row in tables["questions"]:
        del row["supporting"]
    folder = write(tables, without("questions", "supporting"))
    result = run(folder)
    assert not result.outcome.passed
    assert [(failure.column, failure.measure, failure.observed) for failure in layout_failures(result)] == [
        ("questions.supporting", "column", "missing"),
        ("questions.supporting", "type", None),
    ]
    assert (result.snapshot, result.drift) == (None, None)
    with pytest.raises(DataInvalid) as error:
        result.outcome.require_passed(where="data/prepared", next_step="repair it")
    assert error.value.exit_code == ExitCode.DATA_INVALID
    assert "_layout: questions.supporting: column: observed missing, limit present" in str(error.value)
    (page,) = (folder / "docs/validations/_layout").rglob("*.html")
    assert "questions.supporting" in page.read_text(encoding="utf-8")


def test_no_rows_fail_by_name(tables: Rows, write: Write, run: Run) -> None:
    tables["claims"] = []
    result = run(write(tables))
    assert [str(failure) for failure in layout_failures(result)] == [
        "claims.claim_id: rows: observed 0, limit at least 1"
    ]


def test_a_nested_column_fails_by_name(tables: Rows, write: Write, run: Run) -> None:
    for row in tables["documents"]:
        row["text"] = [row["text"]]
    (failure,) = layout_failures(run(write(tables, nested("documents", "text"))))
    assert (failure.column, failure.measure, failure.limit) == ("documents.text", "type", "string")
    assert str(failure.observed).startswith("list<")


def test_a_column_of_nothing_but_nulls_fails_by_name(tables: Rows, write: Write, run: Run) -> None:
    # A column that has a type as well: see all_null_text in test_checks.py.
    for row in tables["questions"]:
        row["split"] = None
    untyped = TABLES["questions"].set(2, pa.field("split", pa.null()))
    (failure,) = layout_failures(run(write(tables, {"questions": untyped})))
    assert (failure.column, failure.observed) == ("questions.split", "null")


def test_the_verdict_is_by_set(runs: Runs) -> None:
    assert runs.good.outcome.passed
    runs.good.outcome.require_passed(where="", next_step="")
    assert {name: suite.passed for name, suite in runs.bad.outcome.suites.items()} == {
        "_layout": True,
        "_values": True,
        "hop": False,
        "truth": True,
        "rag": False,
        "bench": True,
    }
    assert runs.bad.outcome.as_json()["passed"] is False


def test_the_message_names_set_column_observed_and_limit(runs: Runs) -> None:
    with pytest.raises(DataInvalid) as error:
        runs.bad.outcome.require_passed(where="data/prepared", next_step="open the Data Docs")
    assert str(error.value) == (
        "the data gate is shut\n"
        "  - hop: questions.documents: ids that no document has: observed 1, limit 0 (e.g. hop/q4)\n"
        "  - rag: responses.labels: share of spans that differ from their text: observed 0.05, limit at most 0"
        " (e.g. rag/r1-two)\n"
        "  where: data/prepared\n"
        "  next:  open the Data Docs"
    )


def test_docs_name_what_failed(runs: Runs) -> None:
    page = next((runs.folder / "bad/docs/validations/rag").rglob("*.html")).read_text(encoding="utf-8")
    assert "share of spans that differ from their text" in page
    assert "rag/r1-two" in page
    index = (runs.folder / "bad/docs/index.html").read_text(encoding="utf-8")
    assert "responses.labels: share of spans that differ from their text: observed 0.05, limit at most 0" in index


@pytest.mark.parametrize("name", ["good", "bad"])
def test_docs_open_offline(runs: Runs, name: str) -> None:
    pages = list((runs.folder / name / "docs").rglob("*.html"))
    assert len(pages) == 1 + 2 * 6
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"(src|href)\s*=\s*\"?(https?:)?//|<script|@import|url\(", text), page
        assert str(runs.folder) not in text
        assert all((page.parent / link).is_file() for link in re.findall(r'href="([^"#]+)"', text)), page


def test_no_network_and_no_analytics(runs: Runs) -> None:
    assert runs.calls == []
    assert os.environ["GX_ANALYTICS_ENABLED"] == "false"


def test_equal_data_give_equal_bytes(runs: Runs) -> None:
    sites = []
    for name, result in (("bad", runs.bad), ("bad_again", runs.bad_again)):
        docs = runs.folder / name / "docs"
        pages = {path.relative_to(docs): path.read_bytes() for path in docs.rglob("*") if path.is_file()}
        sites.append((json.dumps(result.outcome.as_json()), msgspec.json.encode(result.snapshot), pages))
    assert sites[0] == sites[1]


def test_an_expectation_that_raises_or_vanishes_is_not_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from faithline.gates import gx

    kept = gx._expectation

    def broken(number: int, check: Any) -> Any:
        # The library turns what a metric raises into a result of its own shape (fault 23).
        if check.measure == "raises":
            return gx.gx.expectations.ExpectColumnMaxToBeBetween(
                column="no such column", max_value=1, meta={"check": number}
            )
        return kept(number, check)

    monkeypatch.setattr(gx, "_expectation", broken)
    checks = tuple(Between("t.c", name, 0, 0) for name in ("holds", "raises", "vanishes"))
    profile = {"t.c": {check.measure: Measured(0) for check in checks}}
    whole = gx._validate

    def lossy(context: Any, source: Any, suite: Suite) -> Any:
        return [r for r in whole(context, source, suite) if r.expectation_config.meta["check"] != 2]

    monkeypatch.setattr(gx, "_validate", lossy)
    outcomes = gx.Judge(tmp_path / "docs").evaluate([Suite("s", checks, profile)])
    outcome = outcomes["s"]
    assert (outcome.declared, outcome.evaluated, outcome.held, outcome.failed) == (3, 1, 1, ())
    assert [text.split(":")[1].strip() for text in outcome.lost] == ["raises", "vanishes"]
    assert not outcome.passed
    with pytest.raises(DataInvalid, match=r"not evaluated: t\.c: vanishes: no verdict"):
        Outcome(suites=outcomes).require_passed(where="", next_step="")


def test_no_suite_at_all_is_no_pass() -> None:
    with pytest.raises(DataInvalid, match="no suite was evaluated"):
        Outcome(suites={}).require_passed(where="", next_step="")


def test_declared_sets_are_those_of_sources_json(tmp_path: Path) -> None:
    entry = {"format": "hotpotqa", "kept": 2, "tables": {"questions": 2, "documents": 5, "claims": 0}}
    (tmp_path / "sources.json").write_text(json.dumps({"hop": entry}), encoding="utf-8")
    assert declared_in(tmp_path) == {"hop": {"documents": 5, "questions": 2}}
    (tmp_path / "sources.json").write_text("{", encoding="utf-8")
    with pytest.raises(DataInvalid, match="no list of the sets"):
        declared_in(tmp_path)


def test_accepting_makes_the_data_the_yardstick(
    tables: Rows, write: Write, runs: Runs, settings: Callable[..., Gates], declared: Declared, tmp_path: Path
) -> None:
    folder, accepted = write(tables), tmp_path / "accepted.json"
    sources = json.dumps({name: {"tables": rows} for name, rows in declared.items()})
    (folder / "sources.json").write_text(sources, encoding="utf-8")
    write_snapshot(accepted, Snapshot(vocabulary_buckets=16, sets={}))
    assert accept_data(folder, settings(), accepted).reasons == ("no snapshot was accepted yet",)
    assert read_snapshot(accepted) == runs.good.snapshot
    assert accept_data(folder, settings(), accepted) == Drift(changed=False, drifted=False, reasons=(), psi={})


def test_broken_tables_cannot_be_accepted(
    tables: Rows, write: Write, settings: Callable[..., Gates], declared: Declared, tmp_path: Path
) -> None:
    folder, accepted = write(tables, without("claims", "split")), tmp_path / "accepted.json"
    sources = json.dumps({name: {"tables": rows} for name, rows in declared.items()})
    (folder / "sources.json").write_text(sources, encoding="utf-8")
    empty = Snapshot(vocabulary_buckets=16, sets={})
    write_snapshot(accepted, empty)
    with pytest.raises(DataInvalid, match="column `split` is missing"):
        accept_data(folder, settings(), accepted)
    assert read_snapshot(accepted) == empty


def layout_failures(result: GateResult) -> tuple[Any, ...]:
    assert set(result.outcome.suites) == {"_layout"}
    return result.outcome.suites["_layout"].failed

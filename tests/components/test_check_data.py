"""Stage `check_data`: a run on the embedded sample that passes, gates that shut, drift, and what each leaves behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML

from components.check_data.__main__ import run
from components.check_data.params import Params
from components.generate_sample.__main__ import run as generate
from components.generate_sample.params import Params as SampleParams
from components.prepare_data.__main__ import run as prepare
from components.prepare_data.params import Params as PrepareParams
from faithline.cli import main as faithline
from faithline.pipeline.records import input_digest
from faithline.pipeline.stage import execute

REPORTS = ("noise.json", "gates.json", "drift.json")


@pytest.fixture
def prepared(make_project: Callable[..., Path]) -> Path:
    """A project whose sample was generated and prepared."""
    root = make_project()
    assert execute(root, "generate_sample", SampleParams, generate) == 0
    assert execute(root, "prepare_data", PrepareParams, prepare) == 0
    return root


def check(root: Path) -> int:
    return execute(root, "check_data", Params, run)


def change(root: Path, **gates: Any) -> None:
    """Change limits of every set in the project's params.yaml."""
    yaml = YAML(typ="safe", pure=True)
    params = yaml.load((root / "params.yaml").read_text(encoding="utf-8"))
    params["gates"]["limits"] |= gates
    with (root / "params.yaml").open("w", encoding="utf-8") as file:
        YAML().dump(params, file)


def products(root: Path) -> dict[str, bytes]:
    places = [root / "data/gate.json", root / "metrics/check_data.json", *(root / "reports").rglob("*.*")]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in places if path.is_file()}


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_good_data_open_the_gate_and_twice_give_the_same_bytes(prepared: Path) -> None:
    assert check(prepared) == 0
    first = products(prepared)
    assert {"data/gate.json", "metrics/check_data.json", "reports/data_docs/index.html"} < first.keys()
    assert {f"reports/{name}" for name in REPORTS} < first.keys()
    assert read(prepared / "data/gate.json") == {"passed": True, "prepared": input_digest(prepared / "data/prepared")}
    gates, metrics = read(prepared / "reports/gates.json"), read(prepared / "metrics/check_data.json")
    assert gates["passed"] is True
    # The tables as a whole are two suites (layout and values), each set of params.yaml one more.
    assert metrics["suites"] == len(gates["suites"]) == 2 + 6
    assert metrics["expectations"] == sum(suite["evaluated"] for suite in gates["suites"].values())
    # Counted apart: the share of documents that are not supporting, over all questions of the set.
    table = pq.read_table(prepared / "data/prepared/questions.parquet", filters=[("set", "=", "musique")])
    flags = [flag for row in table["supporting"].to_pylist() for flag in row]
    assert metrics["musique_irrelevant_documents"] == pytest.approx(1 - sum(flags) / len(flags), abs=1e-6)
    assert check(prepared) == 0
    assert products(prepared) == first


def test_a_shut_gate_ends_with_20_and_explains_itself(prepared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(prepared, documents_per_question=[1, 5])
    assert check(prepared) == 20
    message = capsys.readouterr().err
    assert "the data gate is shut" in message
    assert "hotpotqa: questions.documents" in message
    assert "logs/check_data/data_docs/index.html" in message
    assert products(prepared) == {}
    assert "failed" in (prepared / "logs/check_data/data_docs/index.html").read_text(encoding="utf-8")
    assert read(prepared / "logs/check_data/gates.json")["passed"] is False


def test_a_table_without_a_column_is_a_failed_gate_that_names_it(
    prepared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = prepared / "data/prepared/questions.parquet"
    pq.write_table(pq.read_table(path).drop_columns("supporting"), path)
    assert check(prepared) == 20
    assert "questions.supporting: column: observed missing" in capsys.readouterr().err
    assert (prepared / "logs/check_data/data_docs/index.html").is_file()
    assert products(prepared) == {}


def test_another_threshold_leaves_what_training_depends_on_as_it_was(prepared: Path) -> None:
    assert check(prepared) == 0
    gate = (prepared / "data/gate.json").read_bytes()
    change(prepared, max_unanswerable=0.9)
    assert check(prepared) == 0
    assert (prepared / "data/gate.json").read_bytes() == gate


def test_drifted_data_fail_until_they_are_accepted(prepared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert faithline(["--root", str(prepared), "data", "accept"]) == 0
    assert check(prepared) == 0
    assert read(prepared / "reports/drift.json") == {"changed": False, "drifted": False, "psi": {}, "reasons": []}
    # A quarter of the documents: below the least ratio of rows, for questions keep their number.
    path = prepared / "data/prepared/questions.parquet"
    table = pq.read_table(path)
    few = table.filter([name != "hotpotqa" or number < 4 for number, name in enumerate(table["set"].to_pylist())])
    pq.write_table(few, path)
    sources = read(prepared / "data/prepared/sources.json")
    sources["hotpotqa"]["tables"]["questions"] = 4
    (prepared / "data/prepared/sources.json").write_text(json.dumps(sources), encoding="utf-8")
    capsys.readouterr()
    assert check(prepared) == 20
    message = capsys.readouterr().err
    assert "set hotpotqa: questions: 4 rows after 24, ratio 0.167, limit 0.5 to 4" in message
    assert "faithline data accept" in message
    assert read(prepared / "logs/check_data/drift.json")["drifted"] is True
    assert faithline(["--root", str(prepared), "data", "accept"]) == 0
    assert check(prepared) == 0


EVALUATION = {"train": 0.0, "validation": 0.0, "test": 1.0}
REAL = {
    "hotpotqa": ("hotpotqa.jsonl", EVALUATION, 250),
    "2wikimultihopqa": ("2wikimultihopqa.jsonl", EVALUATION, 250),
    "musique": ("musique.jsonl", EVALUATION, 250),
    "bioasq": ("bioasq_golden.json", EVALUATION, 73),
    "popqa": ("popqa.json", EVALUATION, 400),
    "truthfulqa": ("truthfulqa.csv", {"train": 0.7, "validation": 0.1, "test": 0.2}, 600),
    "ragtruth": ("ragtruth", {"train": 0.0, "validation": 0.5, "test": 0.5}, None),
}
"""Every real set at hand: file, shares of the splits, rows by the data's own README."""


def test_every_real_set_at_hand_passes(make_project: Callable[..., Path], real_data: Path) -> None:
    sources = [
        {"name": name, "format": name, "path": f"{{root}}/{file}", "limit": None, "shares": shares}
        for name, (file, shares, _) in REAL.items()
    ]
    sources[1]["documents"] = "{root}/2wikimultihopqa_corpus.json"
    gates = {"limits": {"max_leaked_ngram": 0.15}, "sets": {"popqa": {"irrelevant_share": None}}}
    gates["sets"] |= {"truthfulqa": {"max_leaked_ngram": 0.6}, "ragtruth": {"max_leaked_ngram": 0.4}}
    root = make_project({"prepare_data": {"root": str(real_data), "sources": sources}, "gates": gates})
    assert execute(root, "prepare_data", PrepareParams, prepare) == 0
    read_rows = {name: source["rows"] for name, source in read(root / "data/prepared/sources.json").items()}
    assert {name: read_rows[name] for name, (_, _, rows) in REAL.items() if rows} == {
        name: rows for name, (_, _, rows) in REAL.items() if rows
    }
    assert check(root) == 0
    metrics = read(root / "metrics/check_data.json")
    # The shares that a plain re-computation over the same 250 rows gives.
    assert round(metrics["2wikimultihopqa_irrelevant_documents"], 4) == 0.7616
    assert round(metrics["musique_irrelevant_documents"], 4) == 0.8681
    assert round(metrics["hotpotqa_irrelevant_documents"], 4) == 0.7994


def test_noise_of_a_raw_file_from_the_command_line(
    prepared: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    raw = str(prepared / "data/raw/sample/musique.jsonl")
    assert faithline(["--root", str(prepared), "noise", raw, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["source"]["rows"] == report["sets"]["musique"]["questions"]["splits"]["all"]["samples"] == 24
    assert faithline(["--root", str(prepared), "noise", str(prepared / "data/prepared")]) == 0
    shown = capsys.readouterr().out
    assert "Irrelevant: 1 - gold documents / documents" in shown
    odd = tmp_path / "odd.json"
    odd.write_text("[]", encoding="utf-8")
    assert faithline(["--root", str(prepared), "noise", str(odd)]) == 40
    assert "give --format" in capsys.readouterr().err
    assert faithline(["--root", str(prepared), "noise", str(tmp_path / "absent.json")]) == 20

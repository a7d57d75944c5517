"""Stage `evaluate` through the real wrapper: values worked out by hand, bad input, equal bytes.

One test runs it as a command; the others call the wrapper in this process, which saves a start of two seconds each.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pyarrow.parquet as pq
import pytest

from components.evaluate.__main__ import run
from components.evaluate.answers import Outcome
from components.evaluate.params import Params
from faithline.agents.answer import Outcome as AnswerOutcome
from faithline.pipeline.stage import execute

OUTPUTS = (
    "data/evaluation/items.parquet",
    "data/evaluation/slices.json",
    "metrics/evaluate.json",
    "plots/evaluate.csv",
)


def evaluate(root: Path) -> int:
    return execute(root, "evaluate", Params, run)


@pytest.fixture
def evaluated(answered: Path) -> Path:
    assert evaluate(answered) == 0
    return answered


def test_as_a_command(answered: Path, run_component: Callable[..., Any]) -> None:
    done = run_component(answered, "evaluate")
    assert done.returncode == 0, done.stderr
    record = json.loads((answered / "data/evaluation/record.json").read_text())
    assert sorted(record["outputs"]) == ["items.parquet", "slices.json"]
    assert (record["metrics"]["n"], record["metrics"]["em"]) == (8, 0.2)


def rows(table: Path) -> list[dict[str, Any]]:
    return pq.read_table(table).to_pylist()


def test_items_by_hand(evaluated: Path) -> None:
    items = {row["question_id"]: row for row in rows(evaluated / OUTPUTS[0])}
    columns = ("em_official", "f1_official", "em_strict", "f1_strict", "accuracy", "recall", "context_recall", "length")
    found = {key: tuple(row[name] for name in columns) for key, row in items.items()}
    assert found == {
        "hop/q1": (1, 1, 1, 1, 1, 1, 0.5, 1),
        "hop/q2": (1, 1, 0, 0, 0, 0, 1, 1),  # the official rule takes 1.5 for 15
        "hop/q3": (0, 0, 0, 0, 0, 0, 0.5, None),
        "hop/q4": (1, 1, 1, 1, 1, 1, None, None),  # abstained where that is right
        "hop/q5": (0, 0, 0, 0, 0, 0, None, 2),
        "hop/q6": (None, None, None, None, None, None, None, 1),  # no gold answer is known
        # The official script would give the empty text full marks for "A"; no answer is no score.
        "bio/q1": (0, 0, 0, 0, 0, 0, 0.5, None),
        # "York New" against "New York City": P 1, R 2/3
        "bio/q2": (0, pytest.approx(0.8), 0, pytest.approx(0.8), 0, pytest.approx(2 / 3), 1, 2),
    }
    labels = ("answer_type", "noise_level", "hallucinated")
    assert {key: tuple(row[name] for name in labels) for key, row in items.items()} == {
        "hop/q1": ("phrase", "1-50%", 0),
        "hop/q2": ("number", "0%", 1),  # 1.5 is no word of 15 under the strict rule
        "hop/q3": ("yesno", "1-50%", 0),  # malformed: nothing was said
        "hop/q4": ("", "81-100%", 0),
        "hop/q5": ("", "81-100%", 1),  # answered though there is nothing to answer
        "hop/q6": ("", "", None),  # nobody knows the answer, nor the passages' parts
        "bio/q1": ("phrase", "1-50%", 0),
        "bio/q2": ("phrase", "0%", 0),
    }
    assert list(items) == ["hop/q1", "hop/q2", "hop/q3", "hop/q4", "hop/q5", "hop/q6", "bio/q1", "bio/q2"]
    assert items["hop/q1"]["answers"] == ["Paris", "City of Light"]
    assert items["hop/q1"]["prediction"] == "Paris."
    assert items["hop/q1"]["supporting_documents"] == ["hop/d1", "hop/d3"]


def test_metrics_by_hand(evaluated: Path) -> None:
    metrics = json.loads((evaluated / "metrics/evaluate.json").read_text())
    assert set(metrics) == {"hop", "bio", "all"}
    expected = {
        "n": 6,
        "unanswered": 1,  # q7; q8 is a training question
        "em": 1 / 3,
        "f1": 1 / 3,
        "em_strict": 1 / 3,
        "em_official": 2 / 3,
        "answer_rate": 3 / 4,
        "false_abstention_rate": 0,
        "abstention_rate": 1 / 2,
        "failure_rate": 1 / 6,
        "hallucination_rate": 2 / 5,
        "context_recall": 2 / 3,
        "length": 1.25,
    }
    assert {name: metrics["hop"][name] for name in expected} == pytest.approx(expected, abs=1e-6)
    assert metrics["hop"]["em_lo"] <= metrics["hop"]["em"] <= metrics["hop"]["em_hi"]
    assert (metrics["bio"]["f1"], metrics["bio"]["recall"]) == pytest.approx((0.4, 1 / 3), abs=1e-6)
    assert "abstention_rate" not in metrics["bio"]  # nothing there is unanswerable
    pooled = {"n": 8, "unanswered": 1, "em": 0.2, "em_official": 0.4, "f1": 0.36, "failure_rate": 0.25}
    assert {name: metrics["all"][name] for name in pooled} == pytest.approx(pooled, abs=1e-6)


def test_slices_and_plot_table(evaluated: Path) -> None:
    result = json.loads((evaluated / "data/evaluation/slices.json").read_text())
    assert result["normalisation"] == "strict"
    parts = {tuple(sorted(part["where"].items())): part for part in result["slices"]}
    by_type = parts[("question_type", "bridge"), ("set", "hop")]
    assert (by_type["n"], by_type["metrics"]["em"]["mean"]) == (2, 0.5)
    two_hops = parts[("hops", "2"), ("set", "hop")]
    assert (two_hops["n"], two_hops["metrics"]["em"]["mean"]) == (2, 0.5)
    unanswerable = parts[("answerable", "no"), ("set", "hop")]
    assert "em" not in unanswerable["metrics"]
    assert unanswerable["metrics"]["abstention_rate"]["mean"] == 0.5

    by_noise = parts[("noise_level", "1-50%"), ("set", "hop")]
    assert (by_noise["n"], by_noise["metrics"]["em"]["mean"]) == (2, 0.5)
    by_answer = parts[("answer_type", "number"), ("set", "hop")]
    assert by_answer["metrics"]["hallucination_rate"]["mean"] == 1

    with (evaluated / "plots/evaluate.csv").open() as file:
        plot = list(csv.DictReader(file))
    assert list(plot[0]) == ["set", "metric", "mean", "lo", "hi"]
    assert [row["mean"] for row in plot if (row["set"], row["metric"]) == ("bio", "f1")] == ["0.4"]


def test_same_answers_in_another_order_give_the_same_bytes(evaluated: Path, write_answers: Any) -> None:
    first = [(evaluated / name).read_bytes() for name in OUTPUTS]
    answers = rows(evaluated / "data/answers/answers.parquet")
    write_answers(evaluated / "data/answers", answers[::-1])
    assert evaluate(evaluated) == 0
    assert [(evaluated / name).read_bytes() for name in OUTPUTS] == first


def test_official_as_headline(make_project: Callable[..., Path], write_prepared: Any, write_answers: Any) -> None:
    root = make_project({"evaluate": {"normalisation": "official"}})
    write_prepared(root / "data/prepared")
    write_answers(root / "data/answers")
    assert evaluate(root) == 0
    hop = json.loads((root / "metrics/evaluate.json").read_text())["hop"]
    assert (hop["em"], hop["em_strict"], hop["accuracy"]) == pytest.approx((2 / 3, 1 / 3, 2 / 3), abs=1e-6)


def test_hallucination_by_the_passages_shown(
    make_project: Callable[..., Path], write_prepared: Any, write_answers: Any
) -> None:
    root = make_project({"evaluate": {"hallucination": "unfound"}})
    write_prepared(root / "data/prepared")
    write_answers(root / "data/answers")
    said = {"hop/q1": "Word: word", "hop/q2": "word words", "hop/q3": "no", "hop/q6": "alert x script body"}
    answers = [
        {
            **row,
            "prediction": said.get(row["question_id"], row["prediction"]),
            "outcome": "ok" if row["question_id"] in said else row["outcome"],
            "context": [f"{row['set']}/d1", f"{row['set']}/d2"],
        }
        for row in rows(root / "data/answers/answers.parquet")
    ]
    write_answers(root / "data/answers", answers)
    assert evaluate(root) == 0
    found = {row["question_id"]: row["hallucinated"] for row in rows(root / OUTPUTS[0])}
    # d2 is "word word ..."; of d1, "<script>alert('x')</script> body", the punctuation glues the words together
    assert [found[key] for key in ("hop/q1", "hop/q2", "hop/q3", "hop/q4", "hop/q5", "hop/q6")] == [0, 1, None, 0, 1, 1]


def changed(index: int, **fields: Any) -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
    return lambda answers: [{**row, **(fields if i == index else {})} for i, row in enumerate(answers)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda answers: [*answers, answers[2]], "1 questions are answered more than once, the first is hop/q5"),
        (changed(0, question_id="bio/q9"), "not among the prepared questions, the first is bio/q9"),
        (changed(3, outcome="great"), "unknown outcome 'great'"),
        (lambda answers: [], "no answers"),
    ],
)
def test_bad_answers_are_an_error_not_a_score(
    answered: Path, write_answers: Any, change: Any, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_answers(answered / "data/answers", change(rows(answered / "data/answers/answers.parquet")))
    assert evaluate(answered) == 20
    assert message in capsys.readouterr().err
    assert not (answered / "data/evaluation").exists()
    assert not (answered / "metrics/evaluate.json").exists()


def test_broken_or_incomplete_files_are_named(answered: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = answered / "data/answers/answers.parquet"
    table = pq.read_table(path)
    for write, message in (
        (lambda: pq.write_table(table.drop_columns(["outcome"]), path), "column `outcome` is missing"),
        (lambda: path.write_bytes(b"PAR1 no PAR1"), "corrupt Parquet file"),
        (path.unlink, "answers not found"),
    ):
        write()
        assert evaluate(answered) == 20
        errors = capsys.readouterr().err
        assert message in errors
        assert "answers.parquet" in errors


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answers": [" "]}, "1 gold answers are blank, the first belongs to hop/q1"),
        ({"set": "all"}, "a set is called `all`"),
    ],
)
def test_bad_questions(
    answered: Path, write_prepared: Any, change: dict[str, Any], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    questions = rows(answered / "data/prepared/questions.parquet")
    write_prepared(answered / "data/prepared", [{**questions[0], **change}, *questions[1:]])
    assert evaluate(answered) == 20
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"confidence": 1.0}, "confidence"),
        ({"normalisation": "loose"}, "normalisation"),
        ({"bootstrap_samples": 5}, "100"),
    ],
)
def test_impossible_settings(
    make_project: Callable[..., Path], settings: dict[str, Any], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate(make_project({"evaluate": settings})) == 40
    assert message in capsys.readouterr().err


def test_outcomes_are_those_of_the_answer_role() -> None:
    assert set(get_args(Outcome)) == {outcome.value for outcome in AnswerOutcome}

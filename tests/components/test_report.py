"""Stage `report` through the real wrapper: what the page says, that it is safe, self-contained, and the same bytes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from components.compare.__main__ import run as run_compare
from components.compare.params import Params as CompareParams
from components.evaluate.__main__ import run as run_evaluate
from components.evaluate.params import Params as EvaluateParams
from components.report.__main__ import run
from components.report.cost import Cost, costs
from components.report.gallery import worst
from components.report.highlight import Part, highlight
from components.report.params import Params
from components.report.plots import Bar, intervals_svg, loss_svg
from components.report.sources import METRICS, RECORDS
from faithline.data.prepared import documents
from faithline.metrics.slices import Estimate
from faithline.pipeline.records import write_json, write_record
from faithline.pipeline.stage import execute

PAGE = "reports/report.html"
VOID = {"meta", "link", "br", "img"}
ROOT = Path(__file__).resolve().parents[2]


def report(root: Path) -> int:
    return execute(root, "report", Params, run)


@pytest.fixture
def bare(answered: Path) -> Path:
    """A project with an evaluation and nothing else that the page could show."""
    assert execute(answered, "evaluate", EvaluateParams, run_evaluate) == 0
    return answered


@pytest.fixture
def finished(bare: Path) -> Path:
    """A project with everything."""
    assert execute(bare, "compare", CompareParams, run_compare) == 0
    for stage, folders in RECORDS.items():
        for folder in folders:
            (bare / folder).mkdir(parents=True, exist_ok=True)
            if stage not in {"evaluate", "compare"}:
                params = {"seed": 5, stage: {"rate": 0.1, "inner": {"split_seed": 17}}}
                write_record(bare / folder, stage=stage, inputs={"raw/x": "ab" * 32}, params=params, metrics={})
    for path in METRICS:
        if not (bare / path).exists():
            write_json(bare / path, {"hop_answerable_share": 0.25, "tokens": 1234567, "nested": {"loss": 0.5}})
    source = {"format": "hotpotqa", "rows": 9, "kept": 8, "tables": {"questions": 8}, "sha256": {"hop.json": "cd" * 32}}
    write_json(bare / "data/prepared/sources.json", {"hop": {**source, "rows_per_split": {"train": 1, "test": 7}}})
    (bare / "plots/warm_start.csv").write_text("step,loss,eval_loss\n0,,2.5\n1,2.0,\n2,1.5,1.25\n")
    (bare / "reports").mkdir(exist_ok=True)
    write_json(bare / "reports/noise.json", {"sets": {"<b>hop": NOISE}})
    suite = {"declared": 5, "evaluated": 5, "held": 4, "failed": [], "lost": [], "passed": False}
    write_json(bare / "reports/gates.json", {"passed": False, "suites": {"hop": suite}})
    drift = {"changed": True, "drifted": False, "psi": {}, "reasons": ["no snapshot was accepted yet"]}
    write_json(bare / "reports/drift.json", drift)
    return bare


SPREAD = {"avg": 2.5, "min": 1, "max": 4, "quantiles": {}}
NOISE = {
    "questions": {
        "splits": {
            "test": {
                "samples": 7,
                **dict.fromkeys(("query_words", "documents", "context_words", "context_characters"), SPREAD),
                "gold_documents": SPREAD,
                "irrelevant_documents": {"ratio": 0.25, "per_query": SPREAD | {"quantiles": {"0.5": 0.25}}},
            }
        }
    },
    "documents": {"near_duplicates": {"count": 3, "share": 0.125}},
}
"""The part of the noise statistics of a set that the page's tables show."""


class Page(HTMLParser):
    """Checks nesting and collects tags, attributes, text and table rows."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str]] = []
        self.rows: list[list[str]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data.strip()

    def values(self, name: str) -> list[str]:
        return [value for key, value in self.attributes if key == name]


def test_the_page_is_well_formed_self_contained_and_runs_nothing(finished: Path) -> None:
    assert report(finished) == 0
    text = (finished / PAGE).read_text(encoding="utf-8")
    page = Page(text)
    assert not set(page.tags) & {"script", "iframe", "object", "embed", "form", "img"}
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in {"src", "srcset", "action"}]
    assert set(page.values("href") + page.values("xlink:href")) >= {"#results"}
    assert all(
        re.match(r"#|data:,$|data_docs/index.html$", link) for link in page.values("href") + page.values("xlink:href")
    )
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in page.values("href") if link.startswith("#")} <= set(ids)
    assert str(finished) not in text


def test_markup_in_questions_passages_and_answers_is_text(finished: Path) -> None:
    assert report(finished) == 0
    text = (finished / PAGE).read_text(encoding="utf-8")
    assert "<script" not in text
    shown = Page(text).text
    assert "How many <script>alert('x')</script> & more?" in shown  # question
    assert "Rome <script>alert('x')</script>" in shown  # answer
    assert "malformed: <script>alert('x')</script>" in shown  # unreadable output
    assert "Title hop 1 <script>alert('x')</script>" in shown
    assert "<script>alert('x')</script> body" in shown  # passage


def test_what_it_says(finished: Path) -> None:
    assert report(finished) == 0
    page = Page((finished / PAGE).read_text(encoding="utf-8"))
    header = next(row for row in page.rows if row[:2] == ["Set", "n"])
    results = [row for row in page.rows if len(row) == len(header)]
    assert [row[0] for row in results[:4]] == ["Set", "all", "bio", "hop"]
    first = dict(zip(header, results[3], strict=True))
    # 1 of 3 right; the mean stands first in its cell, the interval follows
    assert (first["n"], first["EM"][:4], first["F1"][:4], first["answered"][:4]) == ("6", "33.3", "33.3", "75.0")
    assert re.fullmatch(r"33\.3\d+\.\d to \d+\.\d", first["EM"])
    assert first["abstained rightly"].startswith("50.0")
    assert any(row[:4] == ["hophotpotqa", "9", "8", "1"] for row in page.rows)
    warm = next(row for row in page.rows if row[0] == "models/warm_start")
    assert "seed = 5" in warm[2]
    assert "warm_start.inner.split_seed = 17" in warm[2]
    assert warm[3] == "raw/x" + "ab" * 6
    assert ["tokens", "1\u202f234\u202f567"] in page.rows
    assert "1 more of the same sets and splits were not asked" in page.text
    assert "absent" not in page.text
    noise = next(row for row in page.rows if row[:2] == ["<b>hop", "test"])
    assert (noise[2], noise[3], noise[-1]) == ("7", "2.501–4", "25.00 %")
    assert ["near-duplicates", "12.50 %3"] in page.rows
    assert ["hop", "5", "4", "failed"] in page.rows
    assert "No drift against the snapshot accepted last: no snapshot was accepted yet." in page.text
    assert "slices of fewer than" in page.text


def test_same_run_same_bytes(finished: Path) -> None:
    assert report(finished) == 0
    first = (finished / PAGE).read_bytes()
    subprocess.run(
        [sys.executable, "-m", "components.report", "--root", str(finished)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "12", "TZ": "Asia/Tokyo", "MPLBACKEND": "pdf"},
        check=True,
    )
    assert (finished / PAGE).read_bytes() == first


def test_absent_files_are_shown_as_absent(bare: Path) -> None:
    (bare / "metrics/evaluate.json").unlink()
    assert report(bare) == 0
    page = Page((bare / PAGE).read_text(encoding="utf-8"))
    for path in METRICS:
        assert f"{path}: absent" in page.text
    assert "plots/warm_start.csv is absent" in page.text
    assert "data/prepared/sources.json is absent" in page.text
    assert ["models/warm_start", "warm_start", "absent"] in page.rows


BROKEN = [
    ("metrics/answer.json", '{"n": '),
    ("metrics/answer.json", "[1]"),
    ("metrics/prepare_data.json", '\xff"'),
    ("models/warm_start/record.json", '{"stage": "warm_start"}'),
    ("data/prepared/sources.json", '{"hop": {"rows": "many"}}'),
    ("data/evaluation/slices.json", "{}"),
    ("data/evaluation/items.parquet", "PAR1"),
    ("plots/warm_start.csv", "step,loss\n1,high\n"),
    ("plots/warm_start.csv", "step,loss\n1,nan\n"),
    ("plots/warm_start.csv", "step\n1\n"),
    ("plots/warm_start.csv", ""),
]


def test_broken_files_are_named(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path, content in BROKEN:
        good = (finished / path).read_bytes()
        (finished / path).write_text(content, encoding="latin-1")
        assert report(finished) == 20, (path, content)
        errors = capsys.readouterr().err
        assert "broken file" in errors
        assert path in errors
        assert not (finished / PAGE).exists()
        (finished / path).write_bytes(good)


def test_without_an_evaluation_there_is_no_page(answered: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(answered) == 20
    assert "data/evaluation/slices.json" in capsys.readouterr().err


def test_gallery_takes_the_worst_with_all_evidence_first(bare: Path) -> None:
    items = pq.read_table(bare / "data/evaluation/items.parquet")
    texts = documents(bare / "data/prepared")
    found = worst(items, texts, "strict", per_set=9, characters=20)
    # F1 0: q2 had all its evidence, q3 half, q5 has none to have; q1, q4 are right and q6 has no score
    assert {name: [case.question_id for case in cases] for name, cases in found.items()} == {
        "bio": ["bio/q1", "bio/q2"],  # 0 before 0.8
        "hop": ["hop/q2", "hop/q3", "hop/q5"],
    }
    case = found["hop"][1]
    assert (case.kind, case.outcome, case.prediction) == ("comparison, 2 hops", "malformed", "")
    assert [(p.evidence, p.cut, sum(len(part.text) for part in p.parts)) for p in case.passages] == [
        (True, True, 20),
        (False, True, 20),
    ]
    assert list(case.not_shown) == ["Title hop 3 "]
    assert [len(cases) for cases in worst(items, texts, "strict", 1, 20).values()] == [1, 1]
    assert worst(items, texts, "strict", 0, 20) == {}
    # under the official rule q2 is right
    assert [case.question_id for case in worst(items, texts, "official", 9, 20)["hop"]] == ["hop/q3", "hop/q5"]


def test_figures_take_their_colours_from_the_page_and_their_texts_literally() -> None:
    estimate = Estimate(n=4, mean=0.5, lo=0.25, hi=0.75)
    svg = intervals_svg(
        [Bar("$x_1$ <b>&amp;", 4, estimate, None), Bar("a very long name of a data set", 4, None, None)]
    )
    assert "$x_1$ &lt;b&gt;&amp;amp;" in svg
    assert "a very long name of a…" in svg
    assert "var(--first)" in svg
    assert not re.search(r"#0[1-5]0[1-5]0[1-5]", svg)
    assert "<metadata" not in svg
    for figure in (svg, loss_svg({"loss": [(1.0, 2.0), (2.0, 1.0)]})):
        assert figure.startswith("<svg")
        assert not re.match(r"<svg [^>]*\b(width|height)=", figure)
        assert "viewBox" in figure


def test_figure_positions_are_the_numbers() -> None:
    svg = intervals_svg([Bar("a", 4, Estimate(4, 0.0, 0.0, 1.0), Estimate(4, 1.0, 0.0, 1.0))])
    # The interval of either metric spans the whole axis from 0 to 100; the markers sit at its ends.
    lines = re.findall(r'<path d="M ([\d.]+) [\d.]+ \nL ([\d.]+) [\d.]+ \n"[^>]*var\(--(first|second)\)', svg)
    spans = {name: (float(a), float(b)) for a, b, name in lines}
    marks = re.findall(r'<use xlink:href="#intervals-\w+" x="([\d.]+)" y="[\d.]+" style="fill: var\(--(\w+)\)', svg)
    at = {name: float(x) for x, name in reversed(marks)}  # the legend's marks come last
    assert spans["first"] == spans["second"]
    assert (at["first"], at["second"]) == pytest.approx(spans["first"], abs=0.01)


def test_settings_are_checked(make_project: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    settings: dict[str, Any] = {"report": {"worst_per_set": -1}}
    assert report(make_project(settings)) == 40
    assert "worst_per_set" in capsys.readouterr().err


def test_the_verdict_stands_on_top_with_its_reasons(finished: Path) -> None:
    assert report(finished) == 0
    text = (finished / PAGE).read_text(encoding="utf-8")
    shown = Page(text).text
    assert text.index('id="verdict"') < text.index('class="cards"') < text.index('id="results"')
    assert "Promote the candidate" in shown
    assert "f1 36.0 [11.4, 71.5]: at least 0.0 is required of a first candidate" in shown


def test_words_of_both_answers_are_marked_in_a_passage() -> None:
    text = "In Paris, not paris-like Parisians; Rome said no."
    assert highlight(text, ["PARIS", "no"], "Rome") == [
        Part("In ", ""),
        Part("Paris", "gold"),
        Part(", not ", ""),
        Part("paris", "gold"),
        Part("-like Parisians; ", ""),
        Part("Rome", "claim"),
        Part(" said no.", ""),
    ]
    assert highlight("New York City", ["York"], "New York") == [
        Part("New ", "claim"),
        Part("York", "gold"),
        Part(" City", ""),
    ]
    assert highlight("", ["x"], "y") == []
    assert highlight("a (b) c", [], "(b)") == [Part("a ", ""), Part("(b)", "claim"), Part(" c", "")]


def test_costs_are_the_tokens_of_the_stages_that_tell() -> None:
    metrics: dict[str, dict[str, object] | None] = {
        "metrics/build_index.json": {"documents": 4, "mean_tokens": 2.5},
        "metrics/answer.json": {"questions": 2, "prompt_tokens": 50, "new_tokens": 0},
        "metrics/warm_start.json": None,
    }
    assert costs(metrics) == [
        Cost("build_index", "embedded", 10, 2.5, "passage"),
        Cost("answer", "read to answer", 50, 25.0, "question"),
    ]

"""Tables, figures and the command."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pyarrow as pa
import pytest

from faithline.data.readers.ledger import RowLedger
from faithline.data.schema import DOCUMENTS, QUESTIONS
from faithline.noise.command import format_of, noise_command, shown
from faithline.noise.measure import measure
from faithline.noise.plots import figures
from faithline.noise.settings import Noise
from faithline.noise.table import findings_table, lengths_table, value_at
from faithline.pipeline.errors import ConfigError, DataInvalid
from faithline.pipeline.params import load_section

FORMATS = ("hotpotqa", "musique", "multihop_rag", "2wikimultihopqa")


@pytest.fixture
def folder(make_prepared: Callable[..., Path]) -> Path:
    texts = ["one two three", "four five", "", "and <b>bold</b> & cafÃ©"]
    return make_prepared(
        documents=[
            {"document_id": f"{name}/{n}", "set": name, "text": text}
            for name in ("s", "<b>")
            for n, text in enumerate(texts)
        ],
        questions=[
            {
                "question_id": f"{name}/{n}",
                "set": name,
                "question": "why is it so",
                "answers": [str(n)],
                "documents": [f"{name}/0", f"{name}/{n + 1}"],
                "supporting": [True, False],
                "split": split,
            }
            for name in ("s", "<b>")
            for n, split in enumerate(("train", "test"))
        ],
    )


@pytest.fixture
def report(folder: Path, noise_settings: Callable[..., Noise]) -> dict[str, Any]:
    return json.loads(json.dumps(measure(folder, noise_settings(), lambda rows: None)))


def test_lengths_table(report: dict[str, Any]) -> None:
    lines = lengths_table(report).text().splitlines()
    assert re.split(r"\s{2,}", lines[1]) == [
        "set", "split", "samples", "query words", "documents", "their words", "their characters", "gold", "irrelevant",
    ]  # fmt: skip
    assert [line.split()[:3] for line in lines[3:]] == [
        [name, split, count] for name in ("<b>", "s") for split, count in (("train", "1"), ("test", "1"), ("all", "2"))
    ]
    assert re.split(r"\s{2,}", lines[-1]) == [
        "s", "all", "2", "4.00 (4–4)", "2.00 (2–2)", "4.00 (3–5)", "17.50 (13–22)", "1.00 (1–1)", "50.00 %",
    ]  # fmt: skip
    assert len({len(line) for line in lines[3:]}) == 1


def test_findings_table_shows_only_what_applies(report: dict[str, Any]) -> None:
    text = findings_table(report).text()
    assert re.search(r"^empty documents +25\.00 % \(1\) +25\.00 % \(1\)$", text, re.MULTILINE)
    assert re.search(r"^leaked questions, exact +100\.00 % \(1\) +100\.00 % \(1\)$", text, re.MULTILINE)
    assert re.search(r"^near-duplicates +0 +0$", text, re.MULTILINE)
    assert "labels" not in text
    assert "both true and false" not in text


def test_html_is_well_formed_and_escaped(report: dict[str, Any]) -> None:
    for table in (lengths_table(report), findings_table(report)):
        fragment = table.html()
        assert "<b>" not in fragment
        assert "&lt;b&gt;" in fragment
        root = ET.fromstring(re.sub(r"(\w+)=(\w+)(?=[ >])", r'\1="\2"', fragment))
        rows = root.findall(".//tbody/tr")
        assert len(rows) == len(table.rows)
        assert all(len(row) == len(table.header) for row in rows)


def test_figures_are_svg_and_the_same_every_time(report: dict[str, Any]) -> None:
    drawn = figures(report)
    assert list(drawn) == ["noise-lengths", "noise-irrelevant", "noise-findings"]
    assert figures(report) == drawn
    for name, svg in drawn.items():
        root = ET.fromstring(svg.replace("xlink:href", "href"))
        assert root.tag.endswith("svg")
        assert all(node.get("id", name).startswith(name) for node in root.iter())
        assert not re.search(r"20\d\d-\d\d|#0[1-5]0[1-5]0[1-5]|<metadata", svg)
        assert "var(--ink)" in svg
    assert "s" in {text.text for text in ET.fromstring(drawn["noise-lengths"]).iter() if text.tag.endswith("text")}


def test_no_data_no_figure() -> None:
    assert figures({"sets": {}}) == {}
    assert figures({}) == {}
    assert findings_table({}).rows == []


def test_value_at() -> None:
    assert value_at({"a": {"b": 0}}, "a", "b") == 0
    assert value_at({"a": {"b": 0}}, "a", "b", "c") is None
    assert value_at({}, "a") is None


@pytest.mark.parametrize(
    ("file", "name", "expected"),
    [
        ("hotpotqa_dev.json", None, "hotpotqa"),
        ("HotpotQA-dev.json", None, "hotpotqa"),
        ("MultiHopRAG.json", None, "multihop_rag"),
        ("multihop-rag.json", None, "multihop_rag"),
        ("2wikimultihopqa.jsonl", None, "2wikimultihopqa"),
        ("dev.json", "musique", "musique"),
    ],
)
def test_format_from_the_name(file: str, name: str | None, expected: str) -> None:
    assert format_of(Path(file), name, FORMATS) == expected


@pytest.mark.parametrize("name", [None, "squad"])
def test_unknown_format_lists_the_known(name: str | None) -> None:
    with pytest.raises(ConfigError) as error:
        format_of(Path("dev.json"), name, FORMATS)
    assert "2wikimultihopqa, hotpotqa" in str(error.value)


def tables(path: Path, name: str, ledger: RowLedger) -> Iterator[Mapping[str, pa.Table]]:
    """A reader of lines "question<TAB>text", each with one document."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        ledger.rows += 1
        if "\t" not in line:
            ledger.reject(f"{path}:{number}", "no_tab", line)
            continue
        ledger.kept += 1
        question, text = line.split("\t")
        row = {"question_id": f"{name}/{number}", "set": name, "split": "test", "question": question, "answers": ["a"]}
        row |= {"answerable": True, "question_type": "", "hops": None, "documents": [f"{name}/{number}"]}
        documents = [{"document_id": f"{name}/{number}", "set": name, "title": "", "text": text}]
        yield {
            "questions": pa.Table.from_pylist([{**row, "supporting": [True], "plan": []}], schema=QUESTIONS),
            "documents": pa.Table.from_pylist(documents, schema=DOCUMENTS),
        }


def test_command_on_a_raw_file_and_on_a_folder(
    tmp_path: Path, folder: Path, noise_settings: Callable[..., Noise]
) -> None:
    raw = tmp_path / "hotpotqa.tsv"
    raw.write_text("why not\tone two\nbroken\nwhen then\tthree\n", encoding="utf-8")
    report = noise_command(raw, None, noise_settings(), FORMATS, tables)
    assert report["source"] == {
        "format": "hotpotqa", "variant": "", "rows": 3, "kept": 2, "skipped": {"no_tab": 1}, "noticed": {},
    }  # fmt: skip
    assert value_at(report, "sets", "hotpotqa", "questions", "splits", "all", "samples") == 2
    assert json.loads(shown(report, as_json=True)) == json.loads(json.dumps(report))
    assert "rows 3" in shown(report, as_json=False)
    prepared = noise_command(folder, None, noise_settings(), FORMATS, tables)
    assert "source" not in prepared
    assert shown(prepared, as_json=False).startswith("Per query")


def test_settings_come_from_params(tmp_path: Path, noise_settings: Callable[..., Noise]) -> None:
    section = msgspec.json.encode(noise_settings(sort_mib=7)).decode()
    (tmp_path / "params.yaml").write_text(f"seed: 1\nnoise: {section}\n", encoding="utf-8")
    assert load_section(tmp_path, "noise", Noise) == noise_settings(sort_mib=7)
    (tmp_path / "params.yaml").write_text(f"noise: {section.replace('sort_mib', 'sort_mb')}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="sort_mb"):
        load_section(tmp_path, "noise", Noise)
    (tmp_path / "params.yaml").write_text("seed: 1\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="noise"):
        load_section(tmp_path, "noise", Noise)


def test_command_refuses_what_is_missing_or_useless(tmp_path: Path, noise_settings: Callable[..., Noise]) -> None:
    with pytest.raises(DataInvalid, match="no such file"):
        noise_command(tmp_path / "none", None, noise_settings(), FORMATS, tables)
    useless = tmp_path / "musique.tsv"
    useless.write_text("broken\n", encoding="utf-8")
    with pytest.raises(DataInvalid, match="no usable row: 1 read"):
        noise_command(useless, None, noise_settings(), FORMATS, tables)

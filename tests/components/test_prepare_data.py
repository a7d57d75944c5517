"""prepare_data end to end: files in, prepared folder out; real excerpts against a plain re-computation."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

from components.prepare_data.params import PrepareData
from components.prepare_data.prepare import SourceReport, prepare
from components.prepare_data.sources import local_sources
from faithline.data.prepared import claims, documents, questions, responses
from faithline.data.schema import TABLES, file_name
from faithline.pipeline.errors import ConfigError, DataInvalid

SHARES = {"train": 0.7, "validation": 0.1, "test": 0.2}
Prepare = Callable[..., tuple[dict[str, Any], Path]]


def hotpot(number: int, **changes: Any) -> dict[str, Any]:
    """A HotpotQA row with one gold of three documents; the last one is the same in all rows."""
    context = [[f"Town {number}", ["It is a town.", " It is old."]], ["Other", [f"Not {number}."]], ["All", ["Same."]]]
    row = {"_id": f"q{number}", "question": f"Where is {number}?", "answer": f"Town {number}", "context": context}
    return row | {"supporting_facts": [[f"Town {number}", 0]], "type": "bridge", "level": "easy"} | changes


@pytest.fixture
def run(tmp_path: Path) -> Prepare:
    """Prepare files below tmp_path; returns metrics and the prepared folder."""

    def run(
        *sources: tuple[str, str, str],
        on_invalid: str = "fail",
        out: str = "prepared",
        max_document_chars: int = 10**6,
        **changes: Any,
    ) -> tuple[dict[str, Any], Path]:
        entries = [
            {"name": name, "format": form, "path": path, "limit": None, "shares": SHARES} | changes
            for name, form, path in sources
        ]
        section = {
            "root": ".",
            "split_seed": 17,
            "on_invalid": on_invalid,
            "max_document_chars": max_document_chars,
            "sources": entries,
        }
        settings = msgspec.convert(section, PrepareData)
        folder = tmp_path / out
        folder.mkdir()
        seen: list[SourceReport] = []
        found = local_sources(settings, lambda path: tmp_path / path)
        metrics = prepare(settings, list(found.values()), folder, lambda _: None, seen.append)
        for report in seen:
            assert report.ledger.rows == report.ledger.kept + report.ledger.skipped.total()
        return metrics, folder

    return run


def write(path: Path, rows: list[Any]) -> None:
    path.write_text(json.dumps(rows), encoding="utf-8")


def test_one_set_by_hand(run: Prepare, tmp_path: Path) -> None:
    write(tmp_path / "h.json", [hotpot(0), hotpot(1), hotpot(2, supporting_facts=None)])
    metrics, folder = run(("hotpotqa", "hotpotqa", "h.json"))
    assert metrics == {
        "hotpotqa_questions": 3,
        "hotpotqa_documents": 7,  # three towns, three others, one shared
        "hotpotqa_answerable_share": 1.0,
        "hotpotqa_documents_per_question_mean": 3.0,
        "hotpotqa_irrelevant_document_ratio": pytest.approx(1 - 2 / 6),  # the third row's flags are unknown
        "hotpotqa_rows_skipped": 0,
    }
    found, texts = questions(folder), documents(folder)
    assert found["question_id"].to_pylist() == ["hotpotqa/q0", "hotpotqa/q1", "hotpotqa/q2"]
    first = found["documents"][0].as_py()
    assert [texts[key].title for key in first] == ["Town 0", "Other", "All"]
    assert first[2] == found["documents"][1].as_py()[2]
    assert found["supporting"].to_pylist() == [[True, False, False], [True, False, False], [None, None, None]]


def test_sources_json_tells_what_the_folder_was_made_of(run: Prepare, tmp_path: Path) -> None:
    rows = [hotpot(0), hotpot(0), hotpot(0, answer="another"), hotpot(1), hotpot(2, question=7)]
    write(tmp_path / "h.json", rows)
    metrics, folder = run(("h", "hotpotqa", "h.json"), on_invalid="skip")
    entry = json.loads((folder / "sources.json").read_text(encoding="utf-8"))["h"]
    assert (entry["rows"], entry["kept"]) == (5, 2)
    assert entry["skipped"] == {"repeated": 1, "conflicting_id": 1, "wrong_schema": 1}
    assert sorted(example.split(":")[0] for example in entry["skipped_examples"]) == [
        "h.json[1]",
        "h.json[2]",
        "h.json[4]",
    ]
    assert entry["tables"] == {"documents": 5, "questions": 2}
    assert sum(entry["rows_per_split"].values()) == 2
    assert entry["variant"] == "official"
    assert metrics["h_rows_skipped"] == 3
    assert str(tmp_path) not in (folder / "sources.json").read_text(encoding="utf-8")
    # The first of two contradicting rows stays; nothing of the second is left, its documents neither.
    assert questions(folder)["answers"].to_pylist() == [["Town 0"], ["Town 1"]]


def test_documents_of_refused_rows_are_not_written(run: Prepare, tmp_path: Path) -> None:
    odd = hotpot(0, context=[["Only here", ["x"]]], supporting_facts=[["Only here", 0]])
    write(tmp_path / "h.json", [hotpot(0), odd, hotpot(1)])
    _, folder = run(("h", "hotpotqa", "h.json"), on_invalid="skip")
    assert "Only here" not in documents(folder).table["title"].to_pylist()


def test_conflicting_ids_fail_by_name_and_equal_ones_never(run: Prepare, tmp_path: Path) -> None:
    write(tmp_path / "h.json", [hotpot(0), hotpot(0)])
    metrics, _ = run(("h", "hotpotqa", "h.json"), out="equal")
    assert metrics["h_questions"] == 1
    write(tmp_path / "h.json", [hotpot(0), hotpot(1), hotpot(0, supporting_facts=[["All", 0]])])
    with pytest.raises(DataInvalid, match="q0 was seen before with other content") as caught:
        run(("h", "hotpotqa", "h.json"))
    assert caught.value.where.endswith("h.json[2]")


def test_order_and_growth_change_no_question(run: Prepare, tmp_path: Path) -> None:
    rows = [hotpot(number) for number in range(60)]
    write(tmp_path / "a.json", rows[:40])
    random.Random(0).shuffle(rows)
    write(tmp_path / "b.json", rows)
    found = []
    for name in ("a", "b"):
        _, folder = run(("h", "hotpotqa", f"{name}.json"), out=name)
        found.append({row["question_id"]: row for row in questions(folder).to_pylist()})
    assert len(found[0]) == 40
    assert all(found[1][key] == row for key, row in found[0].items())
    assert {row["split"] for row in found[1].values()} == {"train", "validation", "test"}


def test_equal_bytes_twice_and_from_every_container(run: Prepare, tmp_path: Path) -> None:
    rows = [hotpot(number) for number in range(30)]
    write(tmp_path / "h.json", rows)
    lines = "\ufeff" + "".join(json.dumps(row, ensure_ascii=False) + "\r\n\r\n" for row in rows)
    (tmp_path / "h.jsonl").write_bytes(lines.encode())
    folders = [
        run(("h", "hotpotqa", name), out=out)[1] for name, out in (("h.json", "a"), ("h.json", "b"), ("h.jsonl", "c"))
    ]
    names = sorted(path.name for path in folders[0].iterdir())
    assert names == sorted([*map(file_name, TABLES), "sources.json"])
    for name in names:
        first, second, lined = ((folder / name).read_bytes() for folder in folders)
        assert first == second
        assert first == lined or name == "sources.json"  # the input's digest differs


def test_truncated_last_line(run: Prepare, tmp_path: Path) -> None:
    text = "\n".join(json.dumps(hotpot(number)) for number in range(3))
    (tmp_path / "h.jsonl").write_text(text[:-20], encoding="utf-8")
    with pytest.raises(DataInvalid) as caught:
        run(("h", "hotpotqa", "h.jsonl"))
    assert caught.value.where.endswith("h.jsonl:3")
    metrics, _ = run(("h", "hotpotqa", "h.jsonl"), on_invalid="skip", out="skipped")
    assert (metrics["h_questions"], metrics["h_rows_skipped"]) == (2, 1)


def test_nothing_usable_is_data_invalid(run: Prepare, tmp_path: Path) -> None:
    write(tmp_path / "bad.json", [hotpot(0, answer="")])
    with pytest.raises(DataInvalid, match=r"no usable row: 1 read, skipped \{'blank_answer': 1\}"):
        run(("h", "hotpotqa", "bad.json"), on_invalid="skip", out="a")
    (tmp_path / "empty.json").write_bytes(b"")
    with pytest.raises(DataInvalid, match="empty") as caught:
        run(("h", "hotpotqa", "empty.json"), out="b")
    assert caught.value.where == str(tmp_path / "empty.json")
    with pytest.raises(DataInvalid, match="source h: file not found"):
        run(("h", "hotpotqa", "absent.json"), out="c")
    header = "Type,Category,Question,Best Answer,Correct Answers,Incorrect Answers,Source"
    (tmp_path / "t.csv").write_text(f"{header}\nA,C,Q?,No,No,Yes,x\n", encoding="utf-8")
    with pytest.raises(DataInvalid, match="no questions"):
        run(("t", "truthfulqa", "t.csv"), out="d")


def test_settings_that_make_no_sense(run: Prepare, tmp_path: Path) -> None:
    write(tmp_path / "h.json", [hotpot(0)])
    with pytest.raises(ConfigError, match="two sources are named h"):
        run(("h", "hotpotqa", "h.json"), ("h", "musique", "h.json"), out="a")
    with pytest.raises(ConfigError, match=r"sum to 0\.9"):
        run(("h", "hotpotqa", "h.json"), out="b", shares={"train": 0.7, "validation": 0.1, "test": 0.1})


def test_musique_twins_share_their_split(run: Prepare, tmp_path: Path) -> None:
    rows = []
    for number in range(40):
        paragraphs = [{"title": "A", "paragraph_text": f"{number}", "is_supporting": True}]
        row = {"id": f"2hop__{number}_1", "question": "q?", "answer": "a", "paragraphs": paragraphs}
        rows += [row | {"answerable": True}, row | {"answerable": False}]
    write(tmp_path / "m.json", rows)
    metrics, folder = run(("m", "musique", "m.json"))
    assert metrics["m_answerable_share"] == 0.5
    found = questions(folder, columns=["question_id", "split", "answers", "answerable"]).to_pylist()
    for answerable, twin in zip(found[::2], found[1::2], strict=True):
        assert twin["question_id"] == answerable["question_id"] + "#unanswerable"
        assert (twin["split"], twin["answers"]) == (answerable["split"], [])


@pytest.mark.parametrize(
    ("name", "mean", "irrelevant_percent"),
    [("2wikimultihopqa", 10.0, 76.16), ("musique", 19.984, 86.81), ("hotpotqa", 9.968, 79.94)],
)
def test_real_files_equal_a_plain_computation(
    run: Prepare, real_data: Path, tmp_path: Path, name: str, mean: float, irrelevant_percent: float
) -> None:
    (tmp_path / "raw").symlink_to(real_data)
    metrics, folder = run((name, name, f"raw/{name}.jsonl"), limit=250)
    rows = [json.loads(line) for line in (real_data / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()[:250]]
    shown = [len(row["contexts"]) for row in rows]
    gold = [sum(paragraph["is_supporting"] for paragraph in row["contexts"]) for row in rows]
    assert metrics[f"{name}_questions"] == len(rows) == 250
    assert metrics[f"{name}_documents_per_question_mean"] == sum(shown) / 250 == mean
    assert metrics[f"{name}_irrelevant_document_ratio"] == pytest.approx(1 - sum(gold) / sum(shown), abs=1e-15)
    assert round(100 * metrics[f"{name}_irrelevant_document_ratio"], 2) == irrelevant_percent
    pairs = {(paragraph["title"], paragraph["paragraph_text"]) for row in rows for paragraph in row["contexts"]}
    assert metrics[f"{name}_documents"] == len(pairs)

    texts = documents(folder)
    for row, found in zip(rows, questions(folder).to_pylist(), strict=True):
        assert found["question"] == row["question_text"]
        assert found["answers"] == row["answers_objects"][0]["spans"]
        assert found["plan"] == row.get("reasoning_steps", [])
        assert found["supporting"] == [paragraph["is_supporting"] for paragraph in row["contexts"]]
        assert [(texts[key].title, texts[key].text) for key in found["documents"]] == [
            (paragraph["title"], paragraph["paragraph_text"]) for paragraph in row["contexts"]
        ]


def test_other_real_files(run: Prepare, real_data: Path, tmp_path: Path) -> None:
    (tmp_path / "raw").symlink_to(real_data)
    metrics, folder = run(
        ("popqa", "popqa", "raw/popqa.json"),
        ("bioasq", "bioasq", "raw/bioasq_golden.json"),
        ("truthfulqa", "truthfulqa", "raw/truthfulqa.csv"),
        ("ragtruth", "ragtruth", "raw/ragtruth"),
    )
    packed = json.loads((real_data / "popqa.json").read_text(encoding="utf-8"))
    found = questions(folder, sets=["popqa"]).to_pylist()
    assert [row["answers"] for row in found] == [
        list(dict.fromkeys(json.loads(row["possible_answers"]))) for row in packed
    ]

    golden = json.loads((real_data / "bioasq_golden.json").read_text(encoding="utf-8"))["questions"]
    listed = [set(row["documents"]) | {s["document"] for s in row["snippets"]} for row in golden]
    quoted = [{s["document"] for s in row["snippets"]} for row in golden]
    assert metrics["bioasq_documents_per_question_mean"] == sum(map(len, listed)) / len(golden)
    assert metrics["bioasq_irrelevant_document_ratio"] == pytest.approx(
        1 - sum(map(len, quoted)) / sum(map(len, listed))
    )

    with (real_data / "truthfulqa.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    expected = set()
    for row in rows:
        for kind, best in (("Correct Answers", "Best Answer"), ("Incorrect Answers", "Best Incorrect Answer")):
            answers = {part.strip() for part in row[kind].split(";")} | {row[best].strip()}
            expected |= {(row["Question"], answer, kind == "Correct Answers") for answer in answers - {""}}
    table = claims(folder)
    assert set(zip(*(table[name].to_pylist() for name in ("question", "answer", "truthful")), strict=True)) == expected
    assert table.num_rows == len(expected) == len(set(table["claim_id"].to_pylist()))
    assert sum(table["best"].to_pylist()) == 2 * len(rows)

    answers = responses(folder)
    assert (answers.num_rows, metrics["ragtruth_responses"]) == (1071, 1071)
    texts = documents(folder)
    for row in answers.to_pylist():
        assert all(key in texts for key in row["documents"])
        assert all(row["response"][label["start"] : label["end"]] == label["text"] for label in row["labels"])
        spans = [(label["start"], label["end"]) for label in row["labels"]]
        assert spans == sorted(spans)


@pytest.fixture
def project(make_project: Callable[..., Path]) -> Callable[..., Path]:
    """A throw-away project whose only source is data/raw/sample/h.json."""

    def make(rows: list[Any] | None, **changes: Any) -> Path:
        source = {"name": "h", "format": "hotpotqa", "path": "{root}/h.json", "limit": None, "shares": SHARES}
        section = {
            "root": "data/raw/sample",
            "split_seed": 17,
            "on_invalid": "fail",
            "max_document_chars": 10**6,
            "sources": [source | changes],
        }
        root = make_project({"prepare_data": section})
        (root / "data/raw/sample").mkdir(parents=True)
        if rows is not None:
            write(root / "data/raw/sample/h.json", rows)
        return root

    return make


def test_command_writes_all_outputs(project: Callable[..., Path], run_component: Callable[..., Any]) -> None:
    root = project([hotpot(number) for number in range(20)])
    done = run_component(root, "prepare_data")
    assert done.returncode == 0, done.stderr
    assert (root / "data/prepared/record.json").is_file()
    metrics = json.loads((root / "metrics/prepare_data.json").read_text(encoding="utf-8"))
    assert metrics["h_questions"] == 20
    assert pq.read_metadata(root / "data/prepared/questions.parquet").num_rows == 20
    before = {path.name: path.read_bytes() for path in (root / "data/prepared").iterdir()}
    assert run_component(root, "prepare_data").returncode == 0
    assert {path.name: path.read_bytes() for path in (root / "data/prepared").iterdir()} == before


@pytest.mark.parametrize(
    ("rows", "changes", "code", "message"),
    [
        ([hotpot(0), hotpot(1, answer=3)], {}, 20, "h.json[1]"),
        (None, {}, 20, "h.json"),
        ([hotpot(0)], {"path": "elsewhere/h.json"}, 40, "not a dependency"),
        ([hotpot(0)], {"format": "hotpot"}, 40, "prepare_data"),
        ([hotpot(0)], {"shares": {"train": 0.7, "validation": 0.1, "test": 0.3}}, 40, "sum to 1.1"),
        ([hotpot(0)], {"limit": 0}, 40, "limit"),
    ],
)
def test_command_fails_without_leaving_outputs(
    project: Callable[..., Path],
    run_component: Callable[..., Any],
    rows: list[Any] | None,
    changes: dict[str, Any],
    code: int,
    message: str,
) -> None:
    root = project(rows, **changes)
    done = run_component(root, "prepare_data")
    assert (done.returncode, message in done.stderr) == (code, True), done.stderr
    assert "next:" in done.stderr
    assert not (root / "data/prepared").exists()
    assert not (root / "metrics/prepare_data.json").exists()

"""Rows that hold a source and annotated responses, or a judged pair: FaithBench, FaithJudge, RAGTruth's hub form,
ContextualJudgeBench.

Schemas read in the publishers' repositories: scripts/faithbench_schema.py and data_for_release/batch_1.json
(vectara/FaithBench), eval_data/*.jsonl (vectara/FaithJudge), main_eval.py (SalesforceAIResearch/ContextualJudgeBench),
and the dataset card of wandb/RAGTruth-processed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from faithline.data.document_store import DocumentStore
from faithline.data.judgement_table import judgement_tables
from faithline.data.readers.contextual_judge_bench import read_judgements
from faithline.data.readers.faithbench import read_faithbench
from faithline.data.readers.faithjudge import FAITHJUDGE
from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.ragtruth import RAGTRUTH_HUB
from faithline.data.readers.variants import read_records
from faithline.data.response_table import ResponseTables
from faithline.data.splits import Splitter
from faithline.pipeline.errors import DataInvalid

Rows = list[dict[str, Any]]
SHARES = (0.5, 0.0, 0.5)


def silent(_: int) -> None:
    pass


def read(form: str, path: Path, on_invalid: str = "fail", limit: int | None = None) -> tuple[Rows, Rows, RowLedger]:
    """Documents, responses and ledger of a file or folder."""
    ledger = RowLedger("s", on_invalid)  # type: ignore[arg-type]
    tables = ResponseTables(Splitter(1, "s", SHARES), DocumentStore("s"), ledger)
    if form == "faithbench":
        rows = read_faithbench(path, ledger, limit, silent)
    else:
        rows = read_records(path, {"faithjudge": FAITHJUDGE, "ragtruth": RAGTRUTH_HUB}[form], ledger, limit, silent)
    documents: Rows = []
    responses: Rows = []
    for batch in tables.annotated(rows):
        documents += batch[0].to_pylist()
        responses += batch[1].to_pylist()
    assert ledger.rows == ledger.kept + ledger.skipped.total()
    return documents, responses, ledger


def write(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def span(labels: list[str], text: str, start: int) -> dict[str, Any]:
    return {
        "annot_id": 1,
        "annotator_id": "a3",
        "annotator_name": "n",
        "label": labels,
        "note": "why",
        "summary_span": text,
        "summary_start": start,
        "summary_end": start + len(text),
        "source_span": None,
        "source_start": None,
        "source_end": None,
    }


def sample(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "sample_id": number,
        "source": "The film cost $160 million.",
        "summary": "Its production budget was $160 million.",
        "annotations": [
            span(["Benign"], "budget", 15),
            span(["Unwanted", "Unwanted.Intrinsic"], "production", 4),
        ],
        "metadata": {"summarizer": "m/7B", "hhemv1": 0.9, "hhem-2.1": 0.5, "gpt_4o": 1, "raw_sample_id": 15},
    } | changes


def test_faithbench_batches(tmp_path: Path) -> None:
    folder = tmp_path / "faithbench"
    folder.mkdir()
    write(folder / "batch_10.json", {"samples": [sample(0, source="Another.", summary="An other.", annotations=[])]})
    write(folder / "batch_2.json", {"samples": [sample(0), sample(1, summary="Cheap.", annotations=[])]})
    write(folder / "notes.txt", "not a batch")
    documents, responses, ledger = read("faithbench", folder)
    assert [row["text"] for row in documents] == ["The film cost $160 million.", "Another."]
    assert [row["response_id"] for row in responses] == ["s/2-0", "s/2-1", "s/10-0"]
    first = responses[0]
    assert (first["task"], first["model"], first["quality"]) == ("summary", "m/7B", "")
    assert [(label["text"], label["type"], label["implicit_true"]) for label in first["labels"]] == [
        ("production", "Unwanted.Intrinsic", False),
        ("budget", "Benign", True),
    ]
    assert responses[0]["source_id"] == responses[1]["source_id"] != responses[2]["source_id"]
    assert dict(ledger.noticed) == {"responses_with_unsorted_labels": 1}
    one, _, _ = read("faithbench", folder / "batch_10.json")
    assert [row["text"] for row in one] == ["Another."]


def test_faithjudge_summaries(tmp_path: Path) -> None:
    note = span(["Questionable"], "budget", 15)
    line = {
        "source_id": "14-0",
        "source": "The film cost $160 million.",
        "summaries": [
            {
                "sample_id": "14-0",
                "summary": "Its production budget was $160 million.",
                "annotations": [[note], [span(["Unwanted"], "production", 4), note]],
                "computed_ground_truth_label_majority": "Unwanted",
                "meta_model": "m/7B",
            },
            {"sample_id": "14-1", "summary": "Cheap.", "annotations": [], "meta_model": "n"},
        ],
    }
    documents, responses, ledger = read("faithjudge", write(tmp_path / "f.jsonl", json.dumps(line)))
    assert len(documents) == 1
    assert [(row["response_id"], row["quality"], row["model"]) for row in responses] == [
        ("s/14-0", "Unwanted", "m/7B"),
        ("s/14-1", "", "n"),
    ]
    assert [label["start"] for label in responses[0]["labels"]] == [4, 15, 15]  # every annotator's
    assert (ledger.variant, ledger.rows, ledger.kept) == ("faithbench", 1, 1)


def test_faithjudge_ragtruth_tasks(tmp_path: Path) -> None:
    label = {"start": 4, "end": 8, "text": "owes", "meta": "x", "label_type": "Evident Conflict"}
    label |= {"implicit_true": False, "due_to_null": True}
    said = [
        {"response": "Ada owes two.", "model": "m", "labels": [label]},
        {"response": "No.", "model": "n", "labels": []},
    ]
    sources: list[Any] = [
        {"question": "who pays?", "passages": "passage 1:Ada pays.\n\npassage 2:Bob owes.\n\n"},
        "Ada opened a plant.",
        {"name": "Café", "stars": 4.0},
    ]
    lines = [{"source_id": number, "source": source, "responses": said} for number, source in enumerate(sources)]
    documents, responses, ledger = read("faithjudge", write(tmp_path / "f", "\n".join(map(json.dumps, lines))))
    assert [row["text"] for row in documents] == [
        "Ada pays.",
        "Bob owes.",
        "Ada opened a plant.",
        '{"name":"Café","stars":4.0}',
    ]
    assert [row["task"] for row in responses] == ["qa", "qa", "summary", "summary", "data2txt", "data2txt"]
    assert responses[0]["labels"][0]["due_to_null"] is True
    assert len({row["response_id"] for row in responses}) == 6
    assert (ledger.variant, ledger.rows) == ("ragtruth", 3)


def hub(number: int, **changes: Any) -> dict[str, Any]:
    spans = [{"start": 9, "end": 12, "text": "two", "label_type": "Subtle Baseless Info", "meta": ""}]
    return {
        "id": str(number),
        "query": "who pays?",
        "context": "passage 1:Ada pays.\n\npassage 2:Bob owes.",
        "output": "Ada owes two.",
        "task_type": "QA",
        "quality": "good",
        "model": "m",
        "temperature": 0.7,
        "hallucination_labels": json.dumps(spans),
        "hallucination_labels_processed": {"evident_conflict": 0, "baseless_info": 1},
        "input_str": "...",
    } | changes


def test_ragtruth_hub(tmp_path: Path) -> None:
    rows = [hub(0), hub(1, output="No.", hallucination_labels="[]"), hub(2, query="Summarize", task_type="Summary")]
    documents, responses, _ = read("ragtruth", write(tmp_path / "r", rows))
    assert [row["text"] for row in documents] == ["Ada pays.", "Bob owes.", rows[2]["context"]]
    assert responses[0]["source_id"] == responses[1]["source_id"] != responses[2]["source_id"]
    assert responses[0]["labels"][0]["type"] == "Subtle Baseless Info"
    assert [len(row["documents"]) for row in responses] == [2, 2, 1]


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"hallucination_labels": "none"}, "hallucination_labels is not a JSON list"),
        ({"hallucination_labels": '[{"start": -1}]'}, "hallucination_labels is not a JSON list"),
        ({"task_type": "Chat"}, "task_type is 'Chat'"),
        ({"context": " "}, "blank query or no text"),
        ({"id": " "}, "the id is blank"),
        ({"id": "0", "output": "Another."}, "seen before with other content"),
    ],
)
def test_bad_ragtruth_hub_rows(tmp_path: Path, changes: dict[str, Any], what: str) -> None:
    path = write(tmp_path / "r", [hub(0), hub(1, **changes)])
    with pytest.raises(DataInvalid, match=what) as caught:
        read("ragtruth", path)
    assert caught.value.where.endswith("r[1]")
    _, responses, ledger = read("ragtruth", path, "skip")
    assert (len(responses), ledger.skipped.total()) == (1, 1)


def test_a_source_that_changes_its_text_is_refused(tmp_path: Path) -> None:
    lines = [
        {"source_id": 1, "source": text, "responses": [{"response": text, "labels": []}]} for text in ("One.", "Two.")
    ]
    path = write(tmp_path / "f", "\n".join(map(json.dumps, [*lines, lines[0]])))
    with pytest.raises(DataInvalid, match="seen before with other content"):
        read("faithjudge", path)
    documents, responses, ledger = read("faithjudge", path, "skip")
    assert (len(documents), len(responses)) == (1, 1)
    assert dict(ledger.skipped) == {"conflicting_id": 1, "repeated": 1}


def test_sources_agree_across_rows_of_one_batch_and_of_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from faithline.data import response_table

    path = write(
        tmp_path / "r", [hub(number, output=f"Answer {number}.", hallucination_labels="[]") for number in range(9)]
    )
    whole = read("ragtruth", path)
    monkeypatch.setattr(response_table, "_BATCH_CHARACTERS", 1)
    split = read("ragtruth", path)
    assert whole[:2] == split[:2]
    assert (len(whole[0]), len(whole[1])) == (2, 9)


def pair(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "problem_id": number,
        "question": "Who pays?",
        "context": "Ada pays.",
        "positive_response": f"Ada, said {number}.",
        "negative_response": "Bob.",
    } | changes


def judge(path: Path, on_invalid: str = "fail") -> tuple[Rows, Rows, RowLedger]:
    ledger = RowLedger("j", on_invalid)  # type: ignore[arg-type]
    pairs = read_judgements(path, ledger, None, silent)
    judgements: Rows = []
    documents: Rows = []
    for batch in judgement_tables(pairs, Splitter(1, "j", SHARES), DocumentStore("j"), ledger):
        judgements += batch[0].to_pylist()
        documents += batch[1].to_pylist()
    assert ledger.rows == ledger.kept + ledger.skipped.total()
    return judgements, documents, ledger


def test_contextual_judge_bench_folder(tmp_path: Path) -> None:
    folder = tmp_path / "cjb"
    folder.mkdir()
    write(folder / "refusal_unanswerable.jsonl", json.dumps(pair(1, question="Who is Cid?")))
    write(folder / "faithfulness_qa-00000-of-00001.json", [pair(1), pair(2), pair(2)])
    write(folder / "conciseness_summ.json", [pair(1, question="")])
    write(folder / "README.md", "# no split")
    judgements, documents, ledger = judge(folder)
    assert [(row["criterion"], row["task"], row["origin"]) for row in judgements] == [
        ("conciseness", "summary", "1"),
        ("faithfulness", "qa", "1"),
        ("faithfulness", "qa", "2"),
        ("refusal_unanswerable", "qa", "1"),
    ]
    assert [row["text"] for row in documents] == ["Ada pays."]
    first, second = judgements[1:3]
    assert (first["preferred"], first["rejected"], first["query"]) == ("Ada, said 1.", "Bob.", "Who pays?")
    assert (first["source_id"], first["split"]) == (second["source_id"], second["split"])
    assert len({row["judgement_id"] for row in judgements}) == 4
    assert dict(ledger.skipped) == {"repeated": 1}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"split": "humour"}, "unknown_split"),
        ({"context": " "}, "blank_source"),
        ({"question": " "}, "blank_source"),
        ({"negative_response": "Ada, said 2."}, "equal_responses"),
        ({"positive_response": None}, "wrong_schema"),
    ],
)
def test_bad_pairs(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    path = write(
        tmp_path / "pairs.json", [pair(1, split="faithfulness_qa"), pair(2, split="completeness_qa") | changes]
    )
    with pytest.raises(DataInvalid, match=reason.replace("_", " ")) as caught:
        judge(path)
    assert caught.value.where.endswith("pairs.json[1]")
    judgements, _, ledger = judge(path, "skip")
    assert (len(judgements), dict(ledger.skipped)) == (1, {reason: 1})

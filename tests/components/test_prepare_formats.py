"""Every format of the settings through prepare_data: hand-made files in, one schema out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from components.prepare_data.params import PrepareData
from components.prepare_data.prepare import SourceReport, prepare
from components.prepare_data.sources import local_sources
from faithline.data.prepared import read_table
from faithline.data.schema import TABLES
from faithline.data.source_settings import Format
from faithline.pipeline.errors import ConfigError

PASSAGE = {"title": "T", "text": "A passage.", "is_supporting": True}
PARAGRAPH = {"title": "T", "paragraph_text": "A passage.", "is_supporting": True}
HOTPOT = {"_id": "1", "question": "Q?", "answer": "A", "context": [["T", ["One."]]], "supporting_facts": [["T", 0]]}
PUBMED = "http://www.ncbi.nlm.nih.gov/pubmed/1"
BIOASQ = {"id": "1", "body": "Q?", "type": "summary", "documents": [PUBMED], "ideal_answer": "A."}
SUMMARY = {"sample_id": 0, "source": "A text.", "summary": "Text.", "metadata": {"summarizer": "m"}}
SAID = [{"response": "Text.", "model": "m", "labels": []}]
JUDGED = {"question": "Q?", "context": "C.", "positive_response": "a", "negative_response": "b"}
FACTS = {"system_instruction": "S", "user_request": "Q?", "context_document": "D.", "full_prompt": "P"}
EVIDENCE = [{"title": "T", "url": "u", "fact": "F."}]
RAGTRUTH_SOURCE = {"source_id": "1", "task_type": "Summary", "source_info": "A text."}
RAGTRUTH_RESPONSE = {"id": "0", "source_id": "1", "model": "m", "labels": [], "response": "Text."}
TRUTHFUL = "Type,Category,Question,Best Answer,Correct Answers,Incorrect Answers,Source\nA,C,Q?,No,No,Yes,x\n"
POPQA = 'id\tsubj\tprop\tquestion\tpossible_answers\n1\tS\tP\tQ?\t"[""A""]"\n'

FILES: Mapping[str, Mapping[str, object]] = {
    "2wikimultihopqa": {"2wikimultihopqa": [HOTPOT | {"evidences": [["a", "b", "c"]]}]},
    "bioasq": {"bioasq": {"questions": [BIOASQ]}, "bioasq_documents": [{"pmid": 1, "title": "T", "abstract": "X."}]},
    "contextualjudgebench": {"contextualjudgebench/faithfulness_qa.json": [JUDGED]},
    "facts_grounding": {"facts_grounding": ",".join(FACTS) + "\r\n" + ",".join(FACTS.values()) + "\r\n"},
    "faithbench": {"faithbench/batch_1.json": {"samples": [SUMMARY]}},
    "faithjudge": {"faithjudge": [{"source_id": 1, "source": "A text.", "responses": SAID}]},
    "hotpotqa": {"hotpotqa": [HOTPOT]},
    "multihop_rag": {
        "multihop_rag": [{"query": "Q?", "answer": "A", "question_type": "inference_query", "evidence_list": EVIDENCE}],
        "multihop_rag_documents": [{"url": u, "title": u, "body": f"Body {u}."} for u in ("u", "v")],
    },
    "musique": {"musique": [{"id": "2hop__1_2", "question": "Q?", "answer": "A", "paragraphs": [PARAGRAPH]}]},
    "nq": {"nq": [{"question": "Q?", "answer": ["A"]}], "nq_documents": [{"title": "T", "text": "A passage."}]},
    "popqa": {"popqa": POPQA, "popqa_documents": [PASSAGE, PASSAGE]},
    "ragtruth": {"ragtruth/source_info.jsonl": RAGTRUTH_SOURCE, "ragtruth/response.jsonl": RAGTRUTH_RESPONSE},
    "truthfulqa": {"truthfulqa": TRUTHFUL},
}
SHARES = {"train": 1.0, "validation": 0.0, "test": 0.0}


def settings(folder: Path, names: list[str], **changes: Any) -> PrepareData:
    """Write the files of these formats and return settings that name them."""
    sources = []
    for name in names:
        for file, content in FILES[name].items():
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        source = {"name": name, "format": name, "path": f"{{root}}/{name}", "limit": None, "shares": SHARES}
        if f"{name}_documents" in FILES[name]:
            source["documents"] = f"{{root}}/{name}_documents"
        sources.append(source | changes)
    section = {"root": ".", "split_seed": 1, "on_invalid": "fail", "max_document_chars": 1000, "sources": sources}
    return msgspec.convert(section, PrepareData)


def run(folder: Path, chosen: PrepareData) -> tuple[dict[str, Any], Path]:
    out = folder / "prepared"
    out.mkdir()
    seen: list[SourceReport] = []
    sources = local_sources(chosen, lambda path: folder / path)
    metrics = prepare(chosen, list(sources.values()), out, lambda _: None, seen.append)
    for report in seen:
        for ledger in (report.ledger, report.passages):
            assert ledger.rows == ledger.kept + ledger.skipped.total()
    return metrics, out


def test_every_format_of_the_settings_is_shown_here() -> None:
    assert set(FILES) == set(get_args(Format))


def test_all_formats_at_once(tmp_path: Path) -> None:
    metrics, out = run(tmp_path, settings(tmp_path, list(FILES)))
    made = {name: {table for table in TABLES if metrics.get(f"{name}_{table}")} for name in FILES}
    questions = {name: {"questions", "documents"} for name in FILES}
    assert made == questions | {
        "contextualjudgebench": {"judgements", "documents"},
        "faithbench": {"responses", "documents"},
        "faithjudge": {"responses", "documents"},
        "ragtruth": {"responses", "documents"},
        "truthfulqa": {"claims"},
    }
    documents = pq.read_table(out / "documents.parquet")
    texts = dict(zip(documents["document_id"].to_pylist(), documents["text"].to_pylist(), strict=True))
    for table in ("questions", "responses", "judgements"):
        rows = read_table(out, table)
        assert set(rows["documents"].combine_chunks().flatten().to_pylist()) <= texts.keys()
        ids = rows[TABLES[table].names[0]].to_pylist()
        assert len(ids) == len(set(ids))
    found = {row["set"]: row for row in read_table(out, "questions").to_pylist()}
    assert [texts[key] for key in found["bioasq"]["documents"]] == ["X."]
    assert [texts[key] for key in found["multihop_rag"]["documents"]] == ["Body u."]
    assert (found["nq"]["documents"], metrics["nq_documents"]) == ([], 1)
    assert metrics["multihop_rag_documents"] == 2  # the article nobody cites is there to be retrieved
    assert metrics["popqa_documents"] == 1
    entry = json.loads((out / "sources.json").read_text(encoding="utf-8"))["multihop_rag"]
    assert (list(entry["sha256"]), list(entry["passages"]["sha256"])) == (["multihop_rag"], ["multihop_rag_documents"])
    assert (entry["passages"]["variant"], entry["passages"]["kept"]) == ("articles", 2)


def test_a_passage_file_that_a_format_has_no_use_for(tmp_path: Path) -> None:
    chosen = settings(tmp_path, ["truthfulqa"], documents="{root}/truthfulqa")
    with pytest.raises(ConfigError, match="truthfulqa takes no passage file"):
        run(tmp_path, chosen)


def test_a_long_passage_is_named(tmp_path: Path) -> None:
    chosen = settings(tmp_path, ["nq"])
    (tmp_path / "nq_documents").write_text(json.dumps([PASSAGE, PASSAGE | {"text": "x" * 1001}]), encoding="utf-8")
    with pytest.raises(Exception, match="has 1001 characters") as caught:
        run(tmp_path, chosen)
    assert caught.value.where.endswith("nq_documents[1]")


def test_types_of_empty_columns_are_those_of_the_schema(tmp_path: Path) -> None:
    _, out = run(tmp_path, settings(tmp_path, ["nq"]))
    for table, schema in TABLES.items():
        assert pq.read_schema(out / f"{table}.parquet").equals(schema)
    assert pa.types.is_boolean(pq.read_schema(out / "questions.parquet").field("supporting").type.value_type)

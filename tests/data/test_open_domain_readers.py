"""Sets whose questions come alone or with passages: NQ, PopQA, MultiHop-RAG, FACTS Grounding; and passage files.

Schemas as published: NQ-open's JSON lines and the simplified NQ format (google-research-datasets), HippoRAG's gold
document rules (main.py of OSU-NLP-Group/HippoRAG: `contexts` or `paragraphs`, `reference` or `answer`), popQA.tsv's
columns (dataset card of akariasai/PopQA), MultiHopRAG.json and corpus.json (yixuantt/MultiHop-RAG), examples.csv
(dataset card of google/FACTS-grounding-public).
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faithline.data.readers import joined_format
from faithline.data.readers.corpus import read_corpus
from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.records import Question
from faithline.data.readers.variants import read_questions
from faithline.pipeline.errors import DataInvalid

Read = Callable[..., tuple[list[Question], RowLedger]]


def silent(_: int) -> None:
    pass


def test_nq_open_has_questions_without_documents(read: Read) -> None:
    lines = b'{"question": "who wrote it", "answer": ["Ada", "A. L."]}\n{"question": "when", "answer": ["1843"]}'
    (first, second), ledger = read("nq", lines)
    assert (first.question, first.answers, first.texts, first.supporting) == ("who wrote it", ["Ada", "A. L."], [], [])
    assert first.source_id != second.source_id
    assert (ledger.variant, ledger.rows) == ("open", 2)


@pytest.mark.parametrize("passages", ["contexts", "paragraphs"])
@pytest.mark.parametrize("answers", [{"reference": ["Ada", "A. L."]}, {"answer": ["Ada", "A. L."]}])
def test_nq_packed(read: Read, passages: str, answers: dict[str, Any]) -> None:
    found = [{"title": "Ada", "text": "Ada wrote it.", "is_supporting": True}, {"title": "Bob", "text": "No."}]
    (question,), ledger = read("nq", [{"question": "who wrote it", passages: found} | answers])
    assert (question.titles, question.texts) == (["Ada", "Bob"], ["Ada wrote it.", "No."])
    assert question.supporting == [True, None]  # absent is unknown, not gold
    assert question.answers == ["Ada", "A. L."]
    assert ledger.variant == passages


def simplified(candidates: list[tuple[int, int, bool]], notes: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "example_id": 7,
        "question_text": "who wrote it",
        "document_text": "<H1> Notes </H1> <P> Ada wrote it . </P> <Ul> <Li> Bob </Li> </Ul>",
        "long_answer_candidates": [
            {"start_token": start, "end_token": end, "top_level": top} for start, end, top in candidates
        ],
        "annotations": notes,
    }


CANDIDATES = [(3, 9, True), (9, 14, True), (10, 13, False)]


def note(candidate: int, spans: list[tuple[int, int]], verdict: str = "NONE") -> dict[str, Any]:
    short = [{"start_token": start, "end_token": end} for start, end in spans]
    return {"long_answer": {"candidate_index": candidate}, "short_answers": short, "yes_no_answer": verdict}


def test_nq_simplified(read: Read) -> None:
    (question,), ledger = read("nq", [simplified(CANDIDATES, [note(0, [(4, 5)])])])
    assert question.texts == ["Ada wrote it .", "Bob"]  # top-level candidates without their tags
    assert (question.supporting, question.answers, question.answerable) == ([True, False], ["Ada"], True)
    assert (question.source_id, ledger.variant) == ("7", "simplified")
    # Gold inside a top-level candidate makes that one the evidence; the commonest short answer comes first.
    nested = simplified(CANDIDATES, [note(2, [(11, 12)]), note(0, [(4, 5)]), note(-1, []), note(0, [(4, 5)])])
    (question,), _ = read("nq", [nested])
    assert (question.supporting, question.answers) == ([True, True], ["Ada", "Bob"])
    (question,), _ = read("nq", [simplified(CANDIDATES, [note(1, [], "YES")])])
    assert question.answers == ["yes"]
    (question,), _ = read("nq", [simplified(CANDIDATES, [note(-1, [])])])
    assert (question.answerable, question.answers) == (False, [])
    with pytest.raises(DataInvalid, match="long answer 3 of 3 candidates"):
        read("nq", [simplified(CANDIDATES, [note(3, [])])])


def table(rows: list[dict[str, Any]], delimiter: str) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


POPQA_ROW = {
    "id": 4222362,
    "subj": "George Rankin",
    "prop": "occupation",
    "obj": "politician",
    "subj_id": 1850297,
    "question": "What is George Rankin's occupation?",
    "possible_answers": '["politician", "political leader"]',
}


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_popqa_tsv(read: Read, mark: bytes) -> None:
    rows = [POPQA_ROW, POPQA_ROW | {"id": 2, "question": 'Who said "a\tb"\nand c?'}]
    (first, second), ledger = read("popqa", mark + table(rows, "\t"))
    assert (first.source_id, first.question_type) == ("4222362", "occupation")
    assert (first.answers, first.texts) == (["politician", "political leader"], [])
    assert second.question == 'Who said "a\tb"\nand c?'
    assert (ledger.variant, ledger.rows) == ("table", 2)


def test_popqa_tsv_rows_that_do_not_fit(read: Read) -> None:
    content = table([POPQA_ROW, POPQA_ROW | {"id": 2, "possible_answers": "politician"}, POPQA_ROW | {"id": 3}], "\t")
    content += b"4\tcut off\r\n"
    questions, ledger = read("popqa", content, "skip")
    assert [question.source_id for question in questions] == ["4222362", "3"]
    assert (ledger.rows, dict(ledger.skipped)) == (4, {"wrong_schema": 2})
    assert any(example.endswith("2 cells under 7 columns") and ":5:" in example for example in ledger.examples)
    with pytest.raises(DataInvalid, match="column subj appears twice"):
        read("popqa", b"id\tsubj\tsubj\n1\t2\t3\n", "skip")


EVIDENCE = [
    {
        "title": "A plant closes",
        "url": "https://n.example/1",
        "fact": "It closed in May.",
        "source": "N",
        "author": None,
    },
    {"title": "A plant opens", "url": "https://n.example/2", "fact": "It opened in June.", "source": "N"},
    {"title": "A plant closes", "url": "https://n.example/1", "fact": "Ada ran it.", "source": "N"},
]
QUERIES = [
    {"query": "Did it close first?", "answer": "Yes", "question_type": "comparison_query", "evidence_list": EVIDENCE},
    {
        "query": "Who is Cid?",
        "answer": "Insufficient information.",
        "question_type": "null_query",
        "evidence_list": [],
    },
]
ARTICLES = [
    {"url": "https://n.example/1", "title": "A plant closes", "body": "It closed in May. Ada ran it.", "author": "x"},
    {"url": "https://n.example/3", "title": "Weather", "body": "Rain."},
]


def test_multihop_rag_without_its_corpus(read: Read) -> None:
    (first, second), ledger = read("multihop_rag", QUERIES)
    assert first.titles == ["A plant closes", "A plant opens"]
    assert first.texts == ["It closed in May.\nAda ran it.", "It opened in June."]
    assert (first.supporting, first.hops, first.answers) == ([True, True], 2, ["Yes"])
    assert (second.answerable, second.answers, second.texts) == (False, [], [])
    assert not ledger.noticed


def joined(tmp_path: Path, form: str, rows: object, documents: object) -> tuple[list[Question], RowLedger, RowLedger]:
    path, passages = tmp_path / "questions", tmp_path / "passages"
    path.write_text(json.dumps(rows), encoding="utf-8")
    passages.write_bytes(documents if isinstance(documents, bytes) else json.dumps(documents).encode())
    ledger, beside = RowLedger("q", "skip"), RowLedger("p", "skip")
    found = joined_format(form, path, passages, beside, silent)
    return list(read_questions(path, found, ledger, None, silent)), ledger, beside


def test_multihop_rag_with_its_corpus(tmp_path: Path) -> None:
    (first, _), ledger, beside = joined(tmp_path, "multihop_rag", QUERIES, ARTICLES)
    assert first.texts == ["It closed in May. Ada ran it.", "It opened in June."]
    assert dict(ledger.noticed) == {"articles_not_in_corpus": 1}
    assert (beside.rows, beside.kept, dict(beside.skipped)) == (2, 1, {"not_cited": 1})


def test_bioasq_with_abstracts(tmp_path: Path, official: dict[str, Any]) -> None:
    lines = [
        {"pmid": 1, "title": "Aspirin.", "abstract": "It inhibits COX. It is old."},
        {"pmid": "2", "title": "Others.", "abstract": None},
        {"pmid": 77, "title": "Not asked for.", "abstract": "x"},
        {"pmid": 1, "title": "Aspirin.", "abstract": "Another text."},
        {"pmid": 9},
    ]
    content = "\n".join(map(json.dumps, lines)).encode()
    questions, ledger, beside = joined(tmp_path, "bioasq", official["bioasq"], content)
    yesno = questions[0]
    assert yesno.titles == ["Aspirin.", "Others.", "PubMed 3"]
    assert yesno.texts == ["It inhibits COX. It is old.", "", "An NSAID."]  # the last from its snippet
    assert yesno.supporting == [True, False, True]
    assert ledger.noticed["abstracts_missing"] == 3  # articles 3 and 9, and an address that is not PubMed's
    assert (beside.rows, beside.kept) == (5, 2)
    assert dict(beside.skipped) == {"not_cited": 1, "conflicting_id": 1, "wrong_schema": 1}


def test_bioasq_hub_with_its_text_corpus(tmp_path: Path) -> None:
    row = {"id": 5, "question": "Which enzyme?", "answer": "COX.", "relevant_passage_ids": [11]}
    (question,), _, _ = joined(tmp_path, "bioasq", [row], [{"id": 11, "passage": "COX is one."}])
    assert (question.titles, question.texts) == (["PubMed 11"], ["COX is one."])


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"title": "T", "text": "x", "idx": 3}, ("", "T", "x")),
        ({"url": "u", "title": "T", "body": "x"}, ("u", "T", "x")),
        ({"pmid": 4, "title": "T", "abstract": "x"}, ("4", "T", "x")),
        ({"id": 4, "passage": "x"}, ("4", "PubMed 4", "x")),
    ],
)
def test_passage_files(tmp_path: Path, row: dict[str, Any], expected: tuple[str, str, str]) -> None:
    (tmp_path / "c").write_text(json.dumps([row]), encoding="utf-8")
    (document,) = read_corpus(tmp_path / "c", RowLedger("p", "fail"), silent)
    assert (document.key, document.title, document.text) == expected


def test_facts_grounding_csv(read: Read) -> None:
    row = {
        "system_instruction": "Use only the text.\nBe brief.",
        "user_request": 'What is "X"?',
        "context_document": "X is a letter.\n\nIt is late.",
        "full_prompt": "...",
    }
    rows = [row, row | {"user_request": "Why?"}, row | {"context_document": "Other."}]
    (first, second, third), ledger = read("facts_grounding", table(rows, ","))
    assert first.question == 'Use only the text.\nBe brief.\n\nWhat is "X"?'
    assert (first.texts, first.supporting, first.answers) == (["X is a letter.\n\nIt is late."], [True], [])
    assert first.group_id == second.group_id != third.group_id
    assert len({first.source_id, second.source_id, third.source_id}) == 3
    assert ledger.variant == "examples"
    blank = table([row | {"user_request": " "}], ",")
    with pytest.raises(DataInvalid, match="blank question"):
        read("facts_grounding", blank)

"""Hub forms (Parquet and JSON) of the multi-hop sets and of TruthfulQA give the rows of the official release.

Column layouts as their dataset cards state them: hotpotqa/hotpot_qa (context {title, sentences}, supporting_facts
{title, sent_id}), 2WikiMultihopQA (context {title, content}, evidences {fact, relation, entity}; or all three as JSON
strings), dgslibisey/MuSiQue (the official keys), truthful_qa (generation, multiple_choice), enelpol/rag-mini-bioasq.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.records import Claim, Question
from faithline.data.readers.truthfulqa import read_claims
from faithline.pipeline.errors import DataInvalid

Read = Callable[..., tuple[list[Question], RowLedger]]


def parquet(rows: list[dict[str, Any]], folder: Path, **options: Any) -> bytes:
    """A Parquet file with these rows; keys that some rows lack are null there."""
    path = folder / "written.parquet"
    names = list(dict.fromkeys(name for row in rows for name in row))
    pq.write_table(pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows]), path, **options)
    return path.read_bytes()


def facts(question: Question) -> dict[str, Any]:
    return {name: getattr(question, name) for name in question.__struct_fields__ if name != "where"}


def hub(row: dict[str, Any], id_name: str = "id", sentences: str = "sentences") -> dict[str, Any]:
    """Turn an official row into the hub's columns."""
    found = {key: value for key, value in row.items() if key not in {"_id", "context", "supporting_facts", "evidences"}}
    found[id_name] = row["_id"]
    found["context"] = {"title": [p[0] for p in row["context"]], sentences: [p[1] for p in row["context"]]}
    found["supporting_facts"] = {
        "title": [fact[0] for fact in row["supporting_facts"]],
        "sent_id": [fact[1] for fact in row["supporting_facts"]],
    }
    if "evidences" in row:
        columns = zip(*row["evidences"], strict=True)
        found["evidences"] = dict(zip(("fact", "relation", "entity"), map(list, columns), strict=True))
    return found


@pytest.mark.parametrize("container", ["parquet", "json"])
def test_hotpotqa(read: Read, official: dict[str, Any], tmp_path: Path, container: str) -> None:
    expected, _ = read("hotpotqa", official["hotpotqa"])
    rows = [hub(row) for row in official["hotpotqa"]]
    questions, ledger = read("hotpotqa", parquet(rows, tmp_path) if container == "parquet" else rows)
    assert list(map(facts, questions)) == list(map(facts, expected))
    assert (ledger.variant, ledger.rows) == ("hub", 2)


@pytest.mark.parametrize("id_name", ["id", "_id"])
@pytest.mark.parametrize("sentences", ["sentences", "content"])
def test_two_wiki(read: Read, official: dict[str, Any], tmp_path: Path, id_name: str, sentences: str) -> None:
    expected, _ = read("2wikimultihopqa", official["2wikimultihopqa"])
    rows = [hub(row, id_name, sentences) for row in official["2wikimultihopqa"]]
    questions, ledger = read("2wikimultihopqa", parquet(rows, tmp_path))
    assert list(map(facts, questions)) == list(map(facts, expected))
    assert ledger.variant == "hub"


def test_two_wiki_with_json_in_strings(read: Read, official: dict[str, Any], tmp_path: Path) -> None:
    expected, _ = read("2wikimultihopqa", official["2wikimultihopqa"])
    rows = [
        row | {name: json.dumps(row[name]) for name in ("context", "supporting_facts", "evidences")}
        for row in official["2wikimultihopqa"]
    ]
    questions, _ = read("2wikimultihopqa", parquet(rows, tmp_path))
    assert list(map(facts, questions)) == list(map(facts, expected))
    with pytest.raises(DataInvalid, match="context is a string that holds no such JSON"):
        read("2wikimultihopqa", parquet([rows[0] | {"context": "[["}], tmp_path))


def test_two_wiki_test_rows_have_unknown_answers(read: Read, official: dict[str, Any]) -> None:
    row = official["2wikimultihopqa"][0] | {"answer": "", "supporting_facts": [], "evidences": []}
    (question,), ledger = read("2wikimultihopqa", [row])
    assert (question.answers, question.supporting, question.hops) == ([], [None, None], None)
    assert not ledger.skipped


def test_musique(read: Read, official: dict[str, Any], tmp_path: Path) -> None:
    expected, _ = read("musique", official["musique"])
    questions, _ = read("musique", parquet(official["musique"], tmp_path))
    assert list(map(facts, questions)) == list(map(facts, expected))


def test_columns_of_unequal_length_are_bad_rows(read: Read, official: dict[str, Any], tmp_path: Path) -> None:
    rows = [hub(row) for row in official["hotpotqa"]]
    rows[1]["supporting_facts"]["sent_id"].pop()
    with pytest.raises(DataInvalid, match=r"supporting_facts have \[2, 1\] items") as caught:
        read("hotpotqa", parquet(rows, tmp_path))
    assert caught.value.where.endswith("source[1]")
    questions, ledger = read("hotpotqa", parquet(rows, tmp_path), "skip")
    assert (len(questions), dict(ledger.skipped)) == (1, {"wrong_schema": 1})


def test_row_groups_and_batches_keep_rows_and_places(read: Read, official: dict[str, Any], tmp_path: Path) -> None:
    rows = [hub(official["hotpotqa"][0] | {"_id": f"q{number}"}) for number in range(600)]
    rows[517]["question"] = " "
    content = parquet(rows, tmp_path, row_group_size=300)
    questions, ledger = read("hotpotqa", content, "skip")
    assert [q.source_id for q in questions] == [f"q{number}" for number in range(600) if number != 517]
    assert ledger.examples[0].split(":")[0].endswith("source[517]")
    limited, _ = read("hotpotqa", content, limit=3)
    assert len(limited) == 3


def test_corrupt_parquet_is_refused(read: Read, official: dict[str, Any], tmp_path: Path) -> None:
    content = parquet([hub(row) for row in official["hotpotqa"]], tmp_path, write_page_checksum=True)
    for broken in (content[:-20], content[:50], b"PAR1"):
        with pytest.raises(DataInvalid, match="corrupt Parquet"):
            read("hotpotqa", broken, "skip")
    refused = 0
    for place in range(4, len(content), 61):
        flipped = content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :]
        try:
            read("hotpotqa", flipped, "skip")  # any other error than DataInvalid is a defect
        except DataInvalid:
            refused += 1
    assert refused > len(content) / 61 / 2


def test_a_parquet_bomb_is_refused_by_its_footer(
    read: Read, official: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faithline.data.readers import parquet_rows

    content = parquet([hub(row) for row in official["hotpotqa"]], tmp_path)
    monkeypatch.setattr(parquet_rows, "_MAX_GROUP_BYTES", 100)
    with pytest.raises(DataInvalid, match="row group 0 unpacks to"):
        read("hotpotqa", content, "skip")


def read_truthful(path: Path, content: object) -> tuple[list[list[Claim]], RowLedger]:
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    ledger = RowLedger("truthfulqa", "fail")
    return list(read_claims(path, ledger, None, lambda _: None)), ledger


def shown(claims: list[Claim]) -> list[tuple[str, bool, bool, int]]:
    return [(claim.answer, claim.truthful, claim.best, claim.position) for claim in claims]


GENERATION = {
    "type": "Adversarial",
    "category": "Myths",
    "question": "Do cats fly?",
    "best_answer": "No",
    "correct_answers": ["No", "They do not"],
    "incorrect_answers": ["Yes", "At night"],
    "source": "https://example.org",
}
EXPECTED = [
    ("No", True, True, 0),
    ("They do not", True, False, 1),
    ("Yes", False, False, 0),
    ("At night", False, False, 1),
]


def test_truthfulqa_generation(tmp_path: Path) -> None:
    (claims,), ledger = read_truthful(tmp_path / "t", parquet([GENERATION], tmp_path))
    assert shown(claims) == EXPECTED
    assert (claims[0].category, ledger.variant) == ("Myths", "generation")


@pytest.mark.parametrize("form", ["multiple_choice", "hub_multiple_choice"])
def test_truthfulqa_multiple_choice(tmp_path: Path, form: str) -> None:
    single = {"No": 1, "Yes": 0, "At night": 0}
    several = {"No": 1, "They do not": 1, "Yes": 0, "At night": 0}
    row: dict[str, Any] = {"question": "Do cats fly?", "mc1_targets": single, "mc2_targets": several}
    if form == "hub_multiple_choice":
        for name in ("mc1_targets", "mc2_targets"):
            row[name] = {"choices": list(row[name]), "labels": list(row[name].values())}
    (claims,), ledger = read_truthful(tmp_path / "t", [row])
    assert shown(claims) == EXPECTED
    (other,), _ = read_truthful(tmp_path / "u", parquet([GENERATION], tmp_path))
    assert claims[0].source_id == other[0].source_id  # so all forms deal a question to the same split
    assert ledger.variant == form


@pytest.mark.parametrize(
    ("labels", "what"),
    [([1, 1], "2 right choices"), ([0, 0], "0 right choices"), ([1, 2], "neither 0 nor 1"), ([1], "2 choices have 1")],
)
def test_truthfulqa_labels_that_say_nothing(tmp_path: Path, labels: list[int], what: str) -> None:
    targets = {"choices": ["No", "Yes"], "labels": labels}
    with pytest.raises(DataInvalid, match=what):
        read_truthful(tmp_path / "t", [{"question": "Q?", "mc1_targets": targets, "mc2_targets": targets}])


@pytest.mark.parametrize("ids", [[11, 22, 11], "[11, 22]"])
def test_bioasq_hub(read: Read, ids: object) -> None:
    row = {"id": 5, "question": "Which enzyme?", "answer": "COX.", "relevant_passage_ids": ids}
    (question,), ledger = read("bioasq", [row])
    assert (question.source_id, question.answers) == ("5", ["COX."])
    assert (question.titles, question.texts) == (["PubMed 11", "PubMed 22"], ["", ""])
    assert question.supporting == [True, True]
    assert ledger.variant == "hub"
    with pytest.raises(DataInvalid, match="relevant_passage_ids is not a JSON list"):
        read("bioasq", [row | {"relevant_passage_ids": "11, 22"}])

"""TruthfulQA's published forms: two CSVs, the hub's tables, multiple choice."""

from __future__ import annotations

import csv
import hashlib
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faithline.data.readers import json_rows
from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.records import Claim
from faithline.data.readers.truthfulqa import read_claims
from faithline.pipeline.errors import DataInvalid

LONG = "Type,Category,Question,Best Answer,Best Incorrect Answer,Correct Answers,Incorrect Answers,Source"
SHORT = "Type,Category,Question,Best Answer,Correct Answers,Incorrect Answers,Source"
ROW = "Adversarial,Myths,Do cats fly?,No,Yes,No; They do not,Yes; At night; Yes,https://example.org"


def read(path: Path, content: str | bytes, on_invalid: str = "fail", limit: int | None = None):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    ledger = RowLedger("truthfulqa", on_invalid)  # type: ignore[arg-type]
    return list(read_claims(path, ledger, limit, lambda _: None)), ledger


def shown(claims: list[Claim]) -> list[tuple[str, bool, bool, int]]:
    return [(claim.answer, claim.truthful, claim.best, claim.position) for claim in claims]


def test_form_with_best_incorrect(tmp_path: Path) -> None:
    (claims,), ledger = read(tmp_path / "t.csv", f"{LONG}\n{ROW}\n")
    assert shown(claims) == [
        ("No", True, True, 0),
        ("They do not", True, False, 1),
        ("Yes", False, True, 0),
        ("At night", False, False, 1),
    ]
    assert claims[0].source_id == hashlib.sha256(b"Do cats fly?").hexdigest()[:16]
    assert (claims[0].category, ledger.variant, ledger.rows) == ("Myths", "790", 1)
    assert dict(ledger.noticed) == {"answers_listed_twice": 1}


def test_form_without_best_incorrect_and_unlisted_best(tmp_path: Path) -> None:
    row = 'Adversarial,Myths,Do cats fly?,Never,"No; Yes;","Yes; At night",https://example.org'
    (claims,), ledger = read(tmp_path / "t.csv", f"\ufeff{SHORT}\r\n{row}\r\n\r\n")
    assert shown(claims) == [
        ("Never", True, True, 0),
        ("No", True, False, 1),
        ("Yes", True, False, 2),
        ("Yes", False, False, 0),
        ("At night", False, False, 1),
    ]
    assert ledger.variant == "817"
    assert dict(ledger.noticed) == {"best_answers_not_listed": 1, "answers_both_true_and_false": 1}


def test_quoted_newlines_keep_rows_and_line_numbers_right(tmp_path: Path) -> None:
    first = 'A,C,"Line one,\r\n""line"" two?",No,Yes,No,Yes,x'
    bad = "A,C,,No,Yes,No,Yes,x"
    with pytest.raises(DataInvalid, match="blank question") as caught:
        read(tmp_path / "t.csv", f"{LONG}\r\n{first}\r\n{bad}\r\n")
    assert caught.value.where.endswith("t.csv:4")
    questions, ledger = read(tmp_path / "t.csv", f"{LONG}\r\n{first}\r\n{bad}\r\n", "skip")
    assert questions[0][0].question == 'Line one,\r\n"line" two?'
    assert (ledger.rows, dict(ledger.skipped)) == (2, {"blank_question": 1})


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("A,C,Q?,No,Yes,No", "wrong_schema"),
        (ROW + ",extra", "wrong_schema"),
        ("A,C,Q?,,Yes,,Yes,x", "blank_answer"),
        ("A,C,Q?,No,,No,;;,x", "blank_answer"),
    ],
)
def test_bad_rows(tmp_path: Path, row: str, reason: str) -> None:
    with pytest.raises(DataInvalid, match=reason.replace("_", " ")):
        read(tmp_path / "t.csv", f"{LONG}\n{ROW}\n{row}\n")
    questions, ledger = read(tmp_path / "t.csv", f"{LONG}\n{ROW}\n{row}\n", "skip")
    assert (len(questions), dict(ledger.skipped)) == (1, {reason: 1})


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "empty"),
        (b"a,b\n1,2\n", r"817 lacks Best Answer, Category"),
        (f'{LONG}\n{ROW}\nA,C,"open'.encode(), "broken CSV"),
        (f'{LONG}\nA,C,"a"b,No,Yes,No,Yes,x\n'.encode(), "broken CSV"),
        (f"{LONG}\n{ROW}\nA,C,caf\xe9?,No,Yes,No,Yes,x\n".encode("latin-1"), "not UTF-8"),
    ],
)
def test_broken_files_are_refused_in_either_mode(tmp_path: Path, content: bytes, what: str) -> None:
    for mode in ("fail", "skip"):
        with pytest.raises(DataInvalid, match=what):
            read(tmp_path / "t.csv", content, mode)


cells = st.text(alphabet=st.sampled_from('ab ",\n\ré'), min_size=1, max_size=8).filter(lambda text: text.strip())


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=5), st.integers(3, 30))
def test_any_cell_survives_quoting_and_blocks(tmp_path: Path, rows: list[tuple[str, str, str]], block: int) -> None:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(SHORT.split(","))
    for question, true, false in rows:
        writer.writerow(["A", "C", question, "", true, false, ""])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_rows, "_BLOCK_BYTES", block)
        questions, _ = read(tmp_path / "t.csv", text.getvalue())
    assert [(c[0].question, c[0].answer, c[1].answer) for c in questions] == [
        tuple(cell.strip() for cell in row) for row in rows
    ]


def test_limit_counts_questions(tmp_path: Path) -> None:
    questions, ledger = read(tmp_path / "t.csv", f"{LONG}\n{ROW}\nbroken\n", limit=1)
    assert (len(questions), ledger.rows) == (1, 1)

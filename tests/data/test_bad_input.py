"""Bad input of every kind, through the readers as the stage calls them: named, counted or refused, never lost.

Duplicate ids, truncated JSON and broken CSV quoting have tests beside their readers as well; here each kind of fault is
shown once for its container, in both modes.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from faithline.data.document_store import DocumentStore
from faithline.data.question_stream import question_stream
from faithline.data.readers import QUESTION_FORMATS
from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.records import Question
from faithline.data.readers.variants import read_questions
from faithline.data.splits import Splitter
from faithline.pipeline.errors import DataInvalid

Read = Callable[..., tuple[list[Question], RowLedger]]


def rows(count: int, **changes: Any) -> list[dict[str, Any]]:
    return [
        {"_id": f"q{number}", "question": "Who?", "answer": "Ada", "context": [["T", [f"Text {number}."]]]} | changes
        for number in range(count)
    ]


def lines(found: list[dict[str, Any]], end: str = "\n") -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + end for row in found).encode()


def test_truncated_json_lines_lose_only_the_last_row_and_say_so(read: Read) -> None:
    content = lines(rows(3))[:-9]
    with pytest.raises(DataInvalid, match="invalid json") as caught:
        read("hotpotqa", content)
    assert caught.value.where.endswith("source:3")
    questions, ledger = read("hotpotqa", content, "skip")
    assert (len(questions), ledger.rows, dict(ledger.skipped)) == (2, 3, {"invalid_json": 1})


def test_a_truncated_array_is_refused_in_both_modes(read: Read) -> None:
    content = json.dumps(rows(3)).encode()
    for cut in (content[:-1], content[:-20], content[: len(content) // 2]):
        for mode in ("fail", "skip"):
            with pytest.raises(DataInvalid, match="truncated"):
                read("hotpotqa", cut, mode)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r\n\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_byte_order_mark_and_line_ends_change_nothing(read: Read, mark: bytes, end: str) -> None:
    plain, _ = read("hotpotqa", lines(rows(4, answer="Café")))
    marked, ledger = read("hotpotqa", mark + lines(rows(4, answer="Café"), end))
    assert [(q.source_id, q.answers, q.texts) for q in marked] == [(q.source_id, q.answers, q.texts) for q in plain]
    assert (ledger.rows, ledger.skipped.total()) == (4, 0)


def test_utf_16_is_refused_by_name(read: Read) -> None:
    with pytest.raises(DataInvalid, match="UTF-16, not UTF-8"):
        read("hotpotqa", lines(rows(2)).decode().encode("utf-16"), "skip")


def table_of(tmp_path: Path, content: bytes, on_invalid: str) -> tuple[pa.Table, RowLedger]:
    path = tmp_path / "source"
    path.write_bytes(content)
    ledger = RowLedger("t", on_invalid)  # type: ignore[arg-type]
    tables = question_stream(
        path,
        QUESTION_FORMATS["hotpotqa"],
        Splitter(1, "t", (1.0, 0.0, 0.0)),
        DocumentStore("t"),
        ledger,
        limit=None,
        workers=0,
        on_bytes=lambda _: None,
    )
    return pa.concat_tables([questions for questions, _ in tables]), ledger


def test_duplicate_ids(tmp_path: Path) -> None:
    first, second = rows(2)
    content = lines([first, second, first, first | {"answer": "Bob"}])
    with pytest.raises(DataInvalid, match="q0 was seen before with other content") as caught:
        table_of(tmp_path, content, "fail")
    assert caught.value.where.endswith("source:4")
    table, ledger = table_of(tmp_path, content, "skip")
    assert table["answers"].to_pylist() == [["Ada"], ["Ada"]]
    assert (ledger.rows, ledger.kept, dict(ledger.skipped)) == (4, 2, {"repeated": 1, "conflicting_id": 1})


@pytest.mark.parametrize("value", [7, None, ["a"], {"a": 1}, True])
def test_wrong_types_name_their_field(read: Read, value: object) -> None:
    content = lines([*rows(1), *rows(1, _id="bad", question=value)])
    with pytest.raises(DataInvalid, match=r"\$\.question") as caught:
        read("hotpotqa", content)
    assert caught.value.where.endswith("source:2")
    questions, ledger = read("hotpotqa", content, "skip")
    assert ([q.source_id for q in questions], dict(ledger.skipped)) == (["q0"], {"wrong_schema": 1})


@pytest.mark.parametrize("length", [1000, 1001])
def test_an_absurdly_long_document_refuses_its_row(tmp_path: Path, length: int) -> None:
    context = [["Short", ["Text."]], ["Long", ["x" * length]]]
    path = tmp_path / "source"
    path.write_bytes(lines([*rows(1), *rows(1, _id="long", context=context)]))

    def run(mode: str) -> tuple[list[str], RowLedger]:
        ledger = RowLedger("t", mode, max_document_chars=1000)  # type: ignore[arg-type]
        found = read_questions(path, QUESTION_FORMATS["hotpotqa"], ledger, None, lambda _: None)
        return [question.source_id for question in found], ledger

    if length == 1000:
        assert run("fail")[0] == ["q0", "long"]
        return
    with pytest.raises(DataInvalid, match="document 'Long' of long has 1001 characters") as caught:
        run("fail")
    assert caught.value.where.endswith("source:2")
    kept, ledger = run("skip")
    assert (kept, dict(ledger.skipped)) == (["q0"], {"document_too_long": 1})


def test_a_row_without_end_is_refused_before_memory_is_filled(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    from faithline.data.readers import json_rows

    monkeypatch.setattr(json_rows, "_MAX_ROW_BYTES", 10_000)
    monkeypatch.setattr(json_rows, "_BLOCK_BYTES", 1_000)
    for content in (b'{"a": "' + b"x" * 50_000, b'[{"a": "' + b"x" * 50_000):
        with pytest.raises(DataInvalid, match="longer than"):
            read("hotpotqa", content, "skip")


def zipped(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("hotpotqa.json", content)
    return buffer.getvalue()


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zipped])
@pytest.mark.parametrize("form", ["hotpotqa", "popqa"])
def test_a_bomb_is_refused_unread(read: Read, pack: Callable[[bytes], bytes], form: str) -> None:
    bomb = pack(b" " * 50_000_000)
    assert len(bomb) < 100_000
    for mode in ("fail", "skip"):
        with pytest.raises(DataInvalid, match="compressed") as caught:
            read(form, bomb, mode)
        assert "unpack it first" in caught.value.next_step


def test_deep_nesting_is_a_bad_row_not_a_crash(read: Read) -> None:
    deep = b'{"_id": "d", "question": "Q?", "context": ' + b"[" * 200_000 + b"]" * 200_000 + b"}\n"
    questions, ledger = read("hotpotqa", lines(rows(1)) + deep, "skip")
    assert (len(questions), ledger.skipped.total()) == (1, 1)

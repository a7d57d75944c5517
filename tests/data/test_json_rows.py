"""Streaming JSON rows: whatever the container, layout and block size, the rows of the standard parser come out."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faithline.data.readers import json_rows as module
from faithline.data.readers.json_rows import json_rows
from faithline.pipeline.errors import DataInvalid

texts = st.text(alphabet=st.sampled_from('ab"\\[]{},:\n\t é😀\u2028'), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(texts, values, max_size=4)
many = settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])


def rows_of(path: Path, content: bytes, envelope: str | None = None) -> list[tuple[str, bytes]]:
    path.write_bytes(content)
    return [(row.where, row.data) for row in json_rows(path, lambda _: None, envelope)]


def decoded(path: Path, content: bytes, envelope: str | None = None) -> list[Any]:
    return [json.loads(data) for _, data in rows_of(path, content, envelope)]


@many
@given(
    st.lists(objects, max_size=5),
    st.integers(1, 40),
    st.sampled_from([None, 0, 2]),
    st.booleans(),
    st.sampled_from([b"", b"\xef\xbb\xbf", b" \r\n\t"]),
)
def test_array_equals_standard_parser(
    tmp_path: Path, rows: list[Any], block: int, indent: int | None, escaped: bool, head: bytes
) -> None:
    text = head + json.dumps(rows, indent=indent, ensure_ascii=escaped).encode() + b"\r\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK_BYTES", block + 3)  # a byte order mark has 3 bytes
        assert decoded(tmp_path / "x", text) == rows


@many
@given(st.lists(objects, max_size=4), st.integers(1, 40), st.dictionaries(texts, values, max_size=2))
def test_envelope_equals_standard_parser(tmp_path: Path, rows: list[Any], block: int, more: dict[str, Any]) -> None:
    more.pop("questions", None)
    text = json.dumps({"questions": rows, **more}, indent=1).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK_BYTES", block + 40)  # the key itself must lie in the first block
        assert decoded(tmp_path / "x", text, "questions") == rows


@many
@given(st.lists(objects, min_size=1, max_size=6), st.integers(4, 40), st.sampled_from([b"\n", b"\r\n", b"\n\n \r\n"]))
def test_lines_equal_standard_parser(tmp_path: Path, rows: list[Any], block: int, end: bytes) -> None:
    text = end.join(json.dumps(row).encode() for row in rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK_BYTES", block)
        assert decoded(tmp_path / "x", text) == rows
        assert decoded(tmp_path / "x", text + end) == rows


@many
@given(st.lists(objects, min_size=1, max_size=3), st.data())
def test_every_truncated_array_is_refused(tmp_path: Path, rows: list[Any], data: st.DataObject) -> None:
    text = json.dumps(rows).encode()
    cut = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(DataInvalid):
        rows_of(tmp_path / "x", text[:cut])


def test_places(tmp_path: Path) -> None:
    path = tmp_path / "x"
    assert [where for where, _ in rows_of(path, b'{"a":1}\r\n\r\n{"a":2}')] == [f"{path}:1", f"{path}:3"]
    assert [where for where, _ in rows_of(path, b'[{"a":1},\n{"a":2}]')] == [f"{path}[0]", f"{path}[1]"]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b" \r\n ", "white space"),
        (b"_id,question\n1,2\n", "not JSON"),
        (b'[{"a":1} {"b":2}]', "comma and an object"),
        (b'[{"a":1}, 5, {"b":2}]', "comma and an object"),
        (b'[{"a":1},]', "comma and an object"),
        (b"[1, 2]", "comma and an object"),
        (b'[{"a":1}] {"b":2}', "after the array"),
        (b'[{"a":1}}', "closes the array"),
        (b'[{"a":1}', "truncated"),
        (b'[{"a":"x]', "truncated"),
        (gzip.compress(b"[]", mtime=0), "compressed"),
        ('[{"a":1}]'.encode("utf-16"), "UTF-16"),
    ],
)
def test_broken_files_are_refused_by_name(tmp_path: Path, content: bytes, what: str) -> None:
    with pytest.raises(DataInvalid, match=what) as caught:
        rows_of(tmp_path / "x", content)
    assert str(tmp_path / "x") in caught.value.where
    assert caught.value.next_step


def test_broken_envelope_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataInvalid, match="object around"):
        rows_of(tmp_path / "x", b'{"questions": [{"a":1}], "b" 1}', "questions")
    with pytest.raises(DataInvalid, match="object around"):
        rows_of(tmp_path / "x", b'{"questions": [{"a":1}]', "questions")


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(DataInvalid, match="not found"):
        list(json_rows(tmp_path / "absent.json", lambda _: None))
    with pytest.raises(DataInvalid, match="folder"):
        list(json_rows(tmp_path, lambda _: None))


def test_row_longer_than_the_bound_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_ROW_BYTES", 1000)
    monkeypatch.setattr(module, "_BLOCK_BYTES", 64)
    long = json.dumps({"a": "x" * 2000}).encode()
    for content in (b"[" + long + b"]", b'{"a":1}\n' + long):
        with pytest.raises(DataInvalid, match="longer than"):
            rows_of(tmp_path / "x", content)


def test_progress_counts_every_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BLOCK_BYTES", 5)
    path = tmp_path / "x"
    path.write_bytes(b'\xef\xbb\xbf[{"a":1},{"a":2}]\n')
    seen: list[int] = []
    assert len(list(json_rows(path, seen.append))) == 2
    assert sum(seen) == path.stat().st_size

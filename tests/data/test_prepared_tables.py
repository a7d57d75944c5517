"""Writing and reading the prepared tables: round trip, equal bytes, and every way a table can be unfit."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faithline.data import tables as module
from faithline.data.prepared import Document, claims, documents, questions, responses
from faithline.data.schema import DOCUMENTS, QUESTIONS, SPLITS, TABLES, file_name
from faithline.data.tables import PreparedWriter
from faithline.pipeline.errors import DataInvalid


def question_rows(count: int, set_name: str = "s") -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "question_id": f"{set_name}/{number}",
                "set": set_name,
                "split": SPLITS[number % 3],
                "question": f"question {number}?",
                "answers": ["yes"] if number % 2 else [],
                "answerable": True,
                "question_type": "",
                "hops": number or None,
                "documents": [f"{set_name}/a", f"{set_name}/b"],
                "supporting": [True, None],
                "plan": [],
            }
            for number in range(count)
        ],
        schema=QUESTIONS,
    )


def document_rows(*ids: str) -> pa.Table:
    rows = [{"document_id": key, "set": key.split("/")[0], "title": f"T{key}", "text": f"text {key}"} for key in ids]
    return pa.Table.from_pylist(rows, schema=DOCUMENTS)


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    with PreparedWriter(tmp_path) as writer:
        writer.write("questions", question_rows(7))
        writer.write("questions", question_rows(3, "t"))
        writer.write("documents", document_rows("s/a", "s/b", "t/a", "t/b"))
        assert writer.rows == {"questions": 10, "documents": 4, "claims": 0, "responses": 0, "judgements": 0}
    return tmp_path


def test_round_trip(prepared: Path) -> None:
    assert questions(prepared).equals(pa.concat_tables([question_rows(7), question_rows(3, "t")]))
    assert questions(prepared, "validation")["question_id"].to_pylist() == ["s/1", "s/4", "t/1"]
    assert questions(prepared, "train", ["t"])["question_id"].to_pylist() == ["t/0"]
    assert questions(prepared, sets=["t", "s"], columns=["question", "hops"]).column_names == ["question", "hops"]
    assert questions(prepared, sets=["t"], columns=["question"]).num_rows == 3


def test_every_table_is_there_and_explains_itself(prepared: Path) -> None:
    for table, schema in TABLES.items():
        found = pq.read_schema(prepared / file_name(table))
        assert found.equals(schema)
        assert all(field.metadata[b"meaning"] for field in found)
    meta = pq.read_metadata(prepared / "documents.parquet").row_group(0).column(3)
    assert (meta.compression, meta.has_dictionary_page) == ("ZSTD", False)


def test_documents_look_up(prepared: Path) -> None:
    found = documents(prepared)
    assert len(found) == 4
    assert list(found) == ["s/a", "s/b", "t/a", "t/b"]
    assert found["t/a"] == Document("t/a", "Tt/a", "text t/a")
    assert "x" not in found
    assert found.positions(["t/b", "s/a", "t/b"]).tolist() == [3, 0, 3]
    assert found.positions([]).tolist() == []
    column = pa.chunked_array([["s/b"], ["s/b", "s/a"]])
    assert found.take(column)["text"].to_pylist() == ["text s/b", "text s/b", "text s/a"]
    assert list(documents(prepared, ["t"])) == ["t/a", "t/b"]
    with pytest.raises(DataInvalid, match="2 document ids are not in the table, the first is s/nix"):
        found.take(["s/a", "s/nix", "s/nux"])


@settings(max_examples=25)
@given(st.lists(st.integers(0, 30), max_size=6), st.integers(1, 4000))
def test_row_groups_never_change_the_rows(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], full: int
) -> None:
    folder = tmp_path_factory.mktemp("prepared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_ROW_GROUP_BYTES", full)
        with PreparedWriter(folder) as writer:
            for size in sizes:
                writer.write("questions", question_rows(size))
    expected = pa.concat_tables([QUESTIONS.empty_table(), *map(question_rows, sizes)])
    assert pq.read_table(folder / "questions.parquet").equals(expected)


def test_equal_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with PreparedWriter(tmp_path / name) as writer:
            for number in range(20):
                writer.write("questions", question_rows(50, f"s{number}"))
    for table in TABLES:
        assert (tmp_path / "one" / file_name(table)).read_bytes() == (tmp_path / "two" / file_name(table)).read_bytes()


def test_a_failure_inside_leaves_threads_and_files_closed(tmp_path: Path) -> None:
    def fail_while_writing() -> None:
        with PreparedWriter(tmp_path) as writer:
            writer.write("questions", question_rows(3))
            raise RuntimeError("first")

    with pytest.raises(RuntimeError, match="first"):
        fail_while_writing()
    with pytest.raises(DataInvalid, match="no rows"):
        questions(tmp_path)


def test_rows_of_another_schema_are_refused(tmp_path: Path) -> None:
    with pytest.raises((ValueError, pa.ArrowInvalid)), PreparedWriter(tmp_path) as writer:
        writer.write("questions", document_rows("s/a"))


def test_missing_table(tmp_path: Path) -> None:
    with pytest.raises(DataInvalid, match="not found") as caught:
        questions(tmp_path)
    assert caught.value.where == str(tmp_path / "questions.parquet")
    assert "prepare_data" in caught.value.next_step


@pytest.mark.parametrize("content", [b"", b"PAR1", b"not parquet at all, but long enough to look at"])
def test_not_parquet(prepared: Path, content: bytes) -> None:
    (prepared / "questions.parquet").write_bytes(content)
    with pytest.raises(DataInvalid, match="corrupt") as caught:
        questions(prepared)
    assert caught.value.where.endswith("questions.parquet")


def test_truncated_and_flipped_files_are_noticed(prepared: Path) -> None:
    path = prepared / "documents.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    with pytest.raises(DataInvalid):
        documents(prepared)
    flipped = bytearray(whole)
    flipped[len(whole) // 8] ^= 0x40  # inside the first column's page
    path.write_bytes(flipped)
    with pytest.raises(DataInvalid, match="corrupt"):
        documents(prepared)


def test_missing_and_wrong_columns_are_named(prepared: Path) -> None:
    path = prepared / "questions.parquet"
    table = pq.read_table(path)
    pq.write_table(table.drop_columns(["supporting"]), path)
    with pytest.raises(DataInvalid, match="column `supporting` is missing"):
        questions(prepared)
    pq.write_table(table.set_column(2, "split", pa.array([1] * table.num_rows)), path)
    with pytest.raises(DataInvalid, match="column `split` is int64, expected string"):
        questions(prepared)


def test_no_matching_rows_say_what_was_asked(prepared: Path) -> None:
    with pytest.raises(DataInvalid, match="no rows in `questions` for split test and set nix, nux"):
        questions(prepared, "test", ["nix", "nux"])
    with pytest.raises(DataInvalid, match="no rows in `claims`"):
        claims(prepared)
    with pytest.raises(DataInvalid, match="no rows in `responses` for split test"):
        responses(prepared, "test")

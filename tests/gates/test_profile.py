"""What one pass measures, against values counted by hand on a small folder."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from faithline.data.schema import TABLES
from faithline.gates import profile as profiling
from faithline.gates.profile import ID_COLUMNS, TablesProfile, layout, measure
from faithline.gates.table_measures import MEASURES
from faithline.pipeline.errors import DataInvalid

Rows = dict[str, list[dict[str, Any]]]
Write = Callable[..., Path]
Declared = dict[str, dict[str, int | None]]


def values(found: TablesProfile, name: str, column: str) -> dict[str, object]:
    return {measure: measured.value for measure, measured in found.sets[name].profile[column].items()}


def test_every_table_is_measured() -> None:
    assert set(MEASURES) == set(ID_COLUMNS) == set(TABLES)
    assert all(column in TABLES[table].names for table, column in ID_COLUMNS.items())
    assert next(iter(MEASURES)) == "documents"  # the others look ids up in it


def test_measures_of_faultless_tables(tables: Rows, write: Write, declared: Declared) -> None:
    found = measure(write(tables), declared, 16)
    assert values(found, "hop", "questions.question_id") == {"rows": 10, "repeated ids": 0, "ids outside the set": 0}
    assert values(found, "hop", "questions.split") == {
        "rows in train": 6,
        "rows in validation": 2,
        "rows in test": 2,
        "unknown splits": 0,
    }
    assert values(found, "hop", "questions.question") == {
        "blank values": 0,
        "shortest (characters)": len("By which river lies town 0?"),
        "longest (characters)": len("By which river lies town 0?"),
    }
    assert values(found, "hop", "questions.supporting") == {
        "lists of another length than documents": 0,
        "share unknown": 0.0,
        "share irrelevant": 0.75,
    }
    assert values(found, "truth", "claims.truthful") == {"share truthful": 0.5}
    assert values(found, "rag", "responses.labels") == {"share of spans that differ from their text": 0.0}
    assert {measured.value for measures in found.values.values() for measured in measures.values()} == {0}


def test_irrelevant_share_is_over_questions_whose_flags_are_all_known(
    tables: Rows, write: Write, declared: Declared
) -> None:
    tables["questions"][0]["supporting"] = [None, True, True, True]
    tables["questions"][1]["supporting"] = [True, True, False, False]
    found = values(measure(write(tables), declared, 16), "hop", "questions.supporting")
    assert found["share unknown"] == 1 / 40
    assert found["share irrelevant"] == (2 + 8 * 3) / 36


@pytest.mark.parametrize("seed", range(3))
def test_order_and_batching_change_nothing_but_examples(
    tables: Rows, write: Write, declared: Declared, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables["questions"][3]["documents"][1] = "hop/0000000000000000"
    tables["responses"][5]["labels"][0]["text"] = "and snowdrops"
    before = measure(write(tables), declared, 16)
    for rows in tables.values():
        random.Random(seed).shuffle(rows)
    monkeypatch.setattr(profiling, "_BATCH_ROWS", 3)
    after = measure(write(tables), declared, 16)
    assert after == before
    assert values(after, "hop", "questions.documents")["ids that no document has"] == 1


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("question", "Another?"),
        ("split", "test"),
        ("answers", []),
        ("answers", [""]),
        ("answers", ["a", "b"]),
        ("answerable", False),
        ("question_type", ""),
        ("hops", None),
        ("supporting", [False, True, False, None]),
        ("plan", ["step"]),
    ],
)
def test_fingerprint_sees_any_change_of_a_question(
    tables: Rows, write: Write, declared: Declared, column: str, value: object
) -> None:
    before = measure(write(tables), declared, 16).sets
    tables["questions"][0][column] = value
    after = measure(write(tables), declared, 16).sets
    assert after["hop"].fingerprints["questions"] != before["hop"].fingerprints["questions"]
    assert after["hop"].fingerprints["documents"] == before["hop"].fingerprints["documents"]
    assert after["rag"] == before["rag"]


def test_fingerprint_sees_a_moved_label(tables: Rows, write: Write, declared: Declared) -> None:
    before = measure(write(tables), declared, 16).sets["rag"].fingerprints
    tables["responses"][0]["labels"][0]["start"] = 11
    after = measure(write(tables), declared, 16).sets["rag"].fingerprints
    assert (after["documents"], after["responses"] == before["responses"]) == (before["documents"], False)


def test_layout_names_types_as_the_schema_does(tables: Rows, write: Write) -> None:
    found = layout(write(tables))
    assert found["questions.answers"]["type"].value == "list<item: string>"
    assert found["documents.text"]["rows"].value == 60


def test_layout_shows_a_nested_column(tables: Rows, write: Write) -> None:
    for row in tables["documents"]:
        row["text"] = [row["text"]]
    nested = pa.schema([(name, pa.string()) for name in ("document_id", "set", "title")])
    folder = write(tables, {"documents": nested.append(pa.field("text", pa.list_(pa.string())))})
    assert str(layout(folder)["documents.text"]["type"].value).startswith("list<")


def test_rows_of_a_set_without_that_table_are_of_an_unknown_set(tables: Rows, write: Write, declared: Declared) -> None:
    tables["claims"][0]["set"] = "hop"  # hop is declared, but has no claims
    found = measure(write(tables), declared, 16)
    assert found.values["claims.set"]["rows of unknown sets"].value == 1


def test_a_distribution_of_very_many_categories_is_cut(tables: Rows, write: Write, declared: Declared) -> None:
    tables["questions"] = [
        tables["questions"][0] | {"question_id": f"hop/{number}", "question_type": f"type {number}"}
        for number in range(200)
    ]
    types = measure(write(tables), declared, 16).sets["hop"].distributions["questions.question_type: values"]
    assert len(types) == 65
    assert sum(types.values()) == 200


@pytest.mark.parametrize("damage", ["gone", "cut", "text", "flipped"])
def test_a_damaged_file_is_named(tables: Rows, write: Write, declared: Declared, damage: str) -> None:
    folder = write(tables)
    path = folder / "documents.parquet"
    data = path.read_bytes()
    damaged = {"cut": data[:-9], "text": b"not Parquet", "flipped": data[:200] + b"\xff" + data[201:]}
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(damaged[damage])
    with pytest.raises(DataInvalid, match=r"documents\.parquet"):
        measure(folder, declared, 16)
    if damage != "flipped":  # only reading the pages shows that
        with pytest.raises(DataInvalid, match=r"documents\.parquet"):
            layout(folder)

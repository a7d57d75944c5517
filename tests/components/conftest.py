"""A small answered project: prepared questions and answers whose scores are worked out in the tests' comments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MARKUP = "<script>alert('x')</script>"


def question(key: str, answers: list[str], **fields: Any) -> dict[str, Any]:
    name = key.split("/", maxsplit=1)[0]
    return {
        "question_id": key,
        "set": name,
        "split": "test",
        "question": f"What is {key}?",
        "answers": answers,
        "answerable": True,
        "question_type": "",
        "hops": None,
        "documents": [f"{name}/d1", f"{name}/d2", f"{name}/d3"],
        "supporting": [True, False, True],
        "plan": [],
        **fields,
    }


def answer(key: str, prediction: str, outcome: str = "ok", context: tuple[str, ...] = ("d1", "d2")) -> dict[str, Any]:
    name = key.split("/", maxsplit=1)[0]
    return {
        "question_id": key,
        "set": name,
        "answerable": key not in {"hop/q4", "hop/q5"},
        "prediction": prediction,
        "outcome": outcome,
        "completion": f"**{prediction}**" if outcome == "ok" else f"{outcome}: {MARKUP}",
        "context": [f"{name}/{document}" for document in context],
        "prompt_tokens": 100,
        "new_tokens": 5,
    }


QUESTIONS = [
    question("hop/q1", ["Paris", "City of Light"], question_type="bridge", hops=2),
    question("hop/q2", ["15"], question_type="bridge", hops=3, question=f"How many {MARKUP} & more?"),
    question("hop/q3", ["yes"], question_type="comparison", hops=2),
    question("hop/q4", [], answerable=False, supporting=[False, False, False]),
    question("hop/q5", [], answerable=False, supporting=[False, False, False]),
    question("hop/q6", [], supporting=[None, None, None]),
    question("hop/q7", ["never asked"]),
    question("hop/q8", ["training"], split="train"),
    question("bio/q1", ["A"]),
    question("bio/q2", ["New York City"]),
]
ANSWERS = [
    answer("bio/q2", "York New", context=("d3", "d1")),
    answer("hop/q6", "anything"),
    answer("hop/q5", f"Rome {MARKUP}"),
    answer("hop/q1", "Paris."),
    answer("hop/q2", "1.5", context=("d1", "d3")),
    answer("hop/q3", "", "malformed"),
    answer("hop/q4", "", "abstained"),
    answer("bio/q1", "", "empty"),
]
DOCUMENTS = [
    {"document_id": f"{name}/d{n}", "set": name, "title": f"Title {name} {n} {MARKUP if n == 1 else ''}", "text": text}
    for name in ("hop", "bio")
    for n, text in enumerate([f"{MARKUP} body", "word " * 200, ""], 1)
]


@pytest.fixture
def write_prepared() -> Callable[..., None]:
    """Write questions and documents as `prepare_data` would (only the tables that `evaluate` and `report` read)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from faithline.data.schema import TABLES, file_name

    def write(
        folder: Path, questions: list[dict[str, Any]] = QUESTIONS, documents: list[dict[str, Any]] = DOCUMENTS
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name, rows in {"questions": questions, "documents": documents}.items():
            pq.write_table(pa.Table.from_pylist(rows, schema=TABLES[name]), folder / file_name(name))

    return write


@pytest.fixture
def write_answers() -> Callable[..., None]:
    """Write answers.parquet with the schema of the stage `answer`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from components.answer.answer import SCHEMA

    def write(folder: Path, rows: list[dict[str, Any]] = ANSWERS) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), folder / "answers.parquet")

    return write


@pytest.fixture
def answered(make_project: Callable[..., Path], write_prepared: Any, write_answers: Any) -> Path:
    """A project that ran as far as `answer`."""
    root = make_project()
    write_prepared(root / "data/prepared")
    write_answers(root / "data/answers")
    return root

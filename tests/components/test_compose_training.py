"""compose_training on hand-made prepared folders: what goes where, what may not meet, what is refused."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.compose_training.compose import CONSUMERS, Composed, compose, rows_to_read
from components.compose_training.outcome import empty_tables, flat_metrics, missing_sets, require
from components.compose_training.params import ComposeTraining
from faithline.data.schema import TABLES, file_name
from faithline.pipeline.errors import ConfigError, DataInvalid
from faithline.training_sets.schema import CORPUS, CRITIC, DOMAINS, MARCH, PARTS, ROLES, SFT, SUBSETS

Rows = list[dict[str, Any]]
ROWS = {"train": None, "validation": None}
SETTINGS: dict[str, Any] = {
    "draw_seed": 3,
    "shared_questions": "fail",
    "required": [],
    "march": {"stem": {"sets": ["bio"], **ROWS}, "general": {"sets": ["hop"], **ROWS}},
    "sft": {
        "sets": None,
        "planner": {**ROWS, "max_steps": 4},
        "selector": {**ROWS, "candidates": None},
        "generator": {**ROWS, "without_documents": "abstain"},
        "solver": ROWS,
        "proposer": {**ROWS, "without_numbers": ROWS},
        "checker": {**ROWS, "cannot_answer": 0.0},
    },
    "critic": {
        "sets": ["truth"],
        "split_seed": 17,
        "shares": {"head_selection": 0.2, "train": 0.5, "validation": 0.1, "test": 0.2},
    },
    "evaluation": [
        {"name": "first", "sets": None, "select": "first", "questions": 2},
        {"name": "drawn", "sets": ["hop"], "select": "draw", "questions": 2},
    ],
}


def question(key: str, split: str = "train", **changes: Any) -> dict[str, Any]:
    """A question about the height of a tower, with one gold document of three; the last one is every question's."""
    name, _, number = key.partition("/")
    row: dict[str, Any] = {
        "question_id": key,
        "set": name,
        "split": split,
        "question": f"How high, in metres, is Tower {key}?",
        "answers": [f"1,{number.zfill(3)}"],
        "answerable": True,
        "question_type": "",
        "hops": None,
        "documents": [f"{name}/other{number}", f"{name}/gold{number}", f"{name}/all"],
        "supporting": [False, True, False],
        "plan": [],
    }
    return row | changes


def documents_for(questions: Rows) -> Rows:
    """Every document that some questions name, once."""
    found = {}
    for row in questions:
        number = row["question_id"].partition("/")[2]
        for key in row["documents"]:
            text = f"Tower {row['question_id']} is 1,{number.zfill(3)} metres high."
            text = text if "gold" in key else "It is a garden."
            found[key] = {"document_id": key, "set": row["set"], "title": key.partition("/")[2], "text": text}
    return list(found.values())


def claim(number: int, split: str, *, truthful: bool) -> dict[str, Any]:
    kind = "true" if truthful else "false"
    return {
        "claim_id": f"truth/{number}/{kind}-0",
        "question_id": f"truth/{number}",
        "set": "truth",
        "split": split,
        "category": "c",
        "question": f"Is {number} odd?",
        "answer": kind,
        "truthful": truthful,
        "best": True,
    }


def write(folder: Path, questions: Rows, documents: Rows | None = None, claims: Rows = []) -> Path:  # noqa: B006
    tables = {"questions": questions, "documents": documents or documents_for(questions), "claims": claims}
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in tables.items():
        pq.write_table(pa.Table.from_pylist(rows, schema=TABLES[name]), folder / file_name(name))
    return folder


def changed(**changes: Any) -> ComposeTraining:
    """The settings with some keys (dots as double underscores) replaced."""
    section = copy.deepcopy(SETTINGS)
    for key, value in changes.items():
        *path, last = key.split("__")
        place = section
        for part in path:
            place = place[part]
        place[last] = value
    return msgspec.convert(section, ComposeTraining)


class Run:
    """A finished run."""

    def __init__(self, prepared: Path, out: Path, section: ComposeTraining) -> None:
        self.out = out
        folders = {name: out / name for name in CONSUMERS}
        (out / "scratch").mkdir(parents=True)
        seen: list[int] = []
        self.composed: Composed = compose(prepared, folders, section, out / "scratch", seen.append)
        assert sum(seen) == rows_to_read(prepared)
        self.metrics = flat_metrics(self.composed, section)

    def rows(self, file: str) -> Rows:
        found: Rows = pq.read_table(self.out / file).to_pylist()
        return found

    def ids(self, file: str) -> list[str]:
        return [row["question_id"] for row in self.rows(file)]


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Run]:
    def run(questions: Rows, claims: Rows = [], documents: Rows | None = None, **changes: Any) -> Run:  # noqa: B006
        place = tmp_path / str(len(list(tmp_path.iterdir())))
        return Run(write(place / "prepared", questions, documents, claims), place / "out", changed(**changes))

    return run


HOP = [
    question("hop/1"),
    question("hop/2", "test"),
    question("hop/3", "validation"),
    question("hop/4", "test"),
    question("hop/5"),
    question("hop/6", "test"),
]


def test_every_table_is_there_with_its_schema(run: Callable[..., Run]) -> None:
    out = run(HOP).out
    files = {f"march/{domain}/{split}.parquet": MARCH for domain in DOMAINS for split in ("train", "validation")}
    files |= {f"sft/{role}/{split}.parquet": SFT for role in ROLES for split in ("train", "validation")}
    files |= {f"critic/{part}.parquet": CRITIC for part in PARTS}
    files |= {"evaluation/subsets.parquet": SUBSETS, "evaluation/corpus.parquet": CORPUS}
    assert {p.relative_to(out).as_posix() for p in out.rglob("*.parquet")} == set(files)
    for file, schema in files.items():
        found = pq.read_schema(out / file)
        assert found.equals(schema), file
        assert [column.metadata[b"meaning"] for column in found] == [column.metadata[b"meaning"] for column in schema]


def test_march_rows_hold_query_and_documents_only(run: Callable[..., Run]) -> None:
    done = run(HOP)
    rows = done.rows("march/general/train.parquet")
    assert [set(row) for row in rows] == [{"question_id", "set", "order", "query", "documents"}] * 2
    assert rows[0]["query"] == "How high, in metres, is Tower hop/1?"
    assert rows[0]["documents"] == [
        {"document_id": "hop/other1", "title": "other1", "text": "It is a garden."},
        {"document_id": "hop/gold1", "title": "gold1", "text": "Tower hop/1 is 1,001 metres high."},
        {"document_id": "hop/all", "title": "all", "text": "It is a garden."},
    ]
    assert done.ids("march/general/train.parquet") == ["hop/1", "hop/5"]
    assert done.ids("march/general/validation.parquet") == ["hop/3"]
    assert done.rows("march/stem/train.parquet") == []
    assert done.metrics["march_general_train"] == done.metrics["march_general_train_hop"] == 2
    assert done.metrics["march_stem_train"] == 0


def test_repeated_documents_and_those_without_text_are_not_shown(run: Callable[..., Run]) -> None:
    row = question("hop/1", documents=["hop/b", "hop/a", "hop/b", "hop/blank"], supporting=[False, None, True, True])
    texts = {"hop/a": "A.", "hop/b": "B.", "hop/blank": " \n\t"}
    documents = [{"document_id": key, "set": "hop", "title": "", "text": text} for key, text in texts.items()]
    bare = question("hop/2", documents=["hop/blank"], supporting=[True])
    done = run([row, bare], documents=documents)
    (kept,) = done.rows("march/general/train.parquet")
    assert [document["document_id"] for document in kept["documents"]] == ["hop/b", "hop/a"]
    assert done.metrics["march_general_left_out_no_text"] == 1
    # hop/b is gold once, hence helpful; hop/a is unknown and does not hold "001".
    (generated,) = [r for r in done.rows("sft/generator/train.parquet") if r["question_id"] == "hop/1"]
    assert [document["document_id"] for document in generated["documents"]] == ["hop/b"]


def test_evaluation_subsets_and_their_corpora(run: Callable[..., Run]) -> None:
    done = run([*HOP, question("bio/1", "test")])
    rows = done.rows("evaluation/subsets.parquet")
    first = [(r["set"], r["position"], r["question_id"]) for r in rows if r["subset"] == "first"]
    assert first == [("hop", 0, "hop/2"), ("hop", 1, "hop/4"), ("bio", 0, "bio/1")]
    drawn = [r["question_id"] for r in rows if r["subset"] == "drawn"]
    assert len(drawn) == 2
    assert set(drawn) <= {"hop/2", "hop/4", "hop/6"}
    corpus = [r["document_id"] for r in done.rows("evaluation/corpus.parquet") if r["subset"] == "first"]
    assert corpus == [
        "hop/other2", "hop/gold2", "hop/all", "hop/other4", "hop/gold4", "bio/other1", "bio/gold1", "bio/all",
    ]  # fmt: skip
    assert done.metrics["evaluation_first_hop"] == 2
    assert done.metrics["evaluation_corpus_first_hop"] == 5


def test_a_larger_draw_keeps_the_smaller_one(run: Callable[..., Run]) -> None:
    questions = [question(f"hop/{n}") for n in range(40)]
    drawn = {n: set(run(questions, march__general__train=n).ids("march/general/train.parquet")) for n in (1, 5, 20)}
    assert {n: len(ids) for n, ids in drawn.items()} == {1: 1, 5: 5, 20: 20}
    assert drawn[1] < drawn[5] < drawn[20]
    by_order = sorted(run(questions).rows("march/general/train.parquet"), key=lambda row: row["order"])
    assert {row["question_id"] for row in by_order[:5]} == drawn[5]
    assert set(run(questions, draw_seed=4, march__general__train=5).ids("march/general/train.parquet")) != drawn[5]


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(splits=st.lists(st.sampled_from(["train", "validation", "test"]), min_size=2, max_size=30), data=st.data())
def test_draws_survive_shuffle_and_growth(run: Callable[..., Run], splits: list[str], data: st.DataObject) -> None:
    questions = [question(f"hop/{n}", split) for n, split in enumerate(splits)]
    old, new = questions[: len(questions) // 2 + 1], questions
    shuffled = data.draw(st.permutations(new))
    limits = {"march__general__train": 4, "sft__solver": {"train": 4, "validation": 2}}
    before, after, again = (run(rows, **limits) for rows in (old, new, shuffled))
    for file in ("march/general/train.parquet", "sft/solver/train.parquet", "sft/selector/train.parquet"):
        by_id = {row["question_id"]: row for row in after.rows(file)}
        assert by_id == {row["question_id"]: row for row in again.rows(file)}
        # New questions displace old ones, but those that stay keep their row.
        kept = {row["question_id"]: row for row in before.rows(file)}
        assert len(by_id) >= len(kept)
        assert all(by_id[key] == kept[key] for key in by_id.keys() & kept.keys())
    ids = {
        split: {key for folder in ("march", "sft") for p in (after.out / folder).rglob(f"{split}.parquet")
                for key in pq.read_table(p)["question_id"].to_pylist()}
        for split in ("train", "validation")
    }  # fmt: skip
    ids["test"] = set(after.ids("evaluation/subsets.parquet"))
    assert {key: splits[int(key.partition("/")[2])] for split in ids for key in ids[split]} == {
        key: split for split in ids for key in ids[split]
    }
    drawn = {r["question_id"] for r in after.rows("evaluation/subsets.parquet") if r["subset"] == "drawn"}
    assert drawn == {r["question_id"] for r in again.rows("evaluation/subsets.parquet") if r["subset"] == "drawn"}


def test_the_same_rows_give_the_same_bytes(run: Callable[..., Run]) -> None:
    questions = [question(f"hop/{n}", random.Random(n).choice(["train", "test"])) for n in range(50)]
    claims = [claim(n, "train", truthful=True) for n in range(5)]
    shares = {"head_selection": 0.5, "train": 0.5, "validation": 0.0, "test": 0.0}
    one, two = (run(questions, claims, critic__shares=shares) for _ in range(2))
    files = sorted(path.relative_to(one.out) for path in one.out.rglob("*.parquet"))
    assert all((one.out / file).read_bytes() == (two.out / file).read_bytes() for file in files)


def test_a_question_that_test_asks_too_ends_the_run_or_is_left_out(run: Callable[..., Run]) -> None:
    twin = question("hop/7", question="HOW high, in metres,  is tower hop/2")
    with pytest.raises(DataInvalid, match=r"hop/7 of split train is asked in split test as well, as hop/2") as caught:
        run([*HOP, twin])
    assert "shared_questions: leave_out" in caught.value.next_step
    same_id = question("hop/2", "validation", question="Another text?")
    with pytest.raises(DataInvalid, match=r"hop/2 of split validation .* as hop/2"):
        run([*HOP, same_id])
    done = run([*HOP, twin], shared_questions="leave_out")
    assert done.ids("march/general/train.parquet") == ["hop/1", "hop/5"]
    assert done.metrics["shared_with_test_hop"] == 1
    told = [claim(1, "train", truthful=True) | {"question": "How high, in metres, is Tower hop/2?"}]
    with pytest.raises(DataInvalid, match="truth/1 of split train is asked in split test as well, as hop/2"):
        run(HOP, told, critic__shares={"head_selection": 1.0, "train": 0.0, "validation": 0.0, "test": 0.0})


def test_what_is_required_must_have_rows(run: Callable[..., Run]) -> None:
    done = run(HOP, required=["march.general", "evaluation"])
    require(done.composed, changed(required=["march.general", "evaluation", "sft.checker"]))
    for name in ("march.stem", "sft.planner", "critic"):
        with pytest.raises(DataInvalid, match=f"rows for {name}"):
            require(done.composed, changed(required=[name]))
    assert ("march.stem", "train") in empty_tables(done.composed, changed())
    assert ("march.general", "train") not in empty_tables(done.composed, changed())
    assert missing_sets(done.composed, changed()) == [("march.stem", "bio"), ("critic", "truth")]


@pytest.mark.parametrize("table", ["questions", "documents", "claims"])
def test_a_bad_table_is_named(run: Callable[..., Run], tmp_path: Path, table: str) -> None:
    prepared = write(tmp_path / "prepared", HOP)
    path = prepared / file_name(table)
    good = pq.read_table(path)
    wrong = good.set_column(0, good.column_names[0], pa.array([1] * good.num_rows, pa.int64()))
    for bad, what in ((good.drop_columns([good.column_names[1]]), "is missing"), (wrong, "is int64, expected string")):
        pq.write_table(bad, path)
        with pytest.raises(DataInvalid, match=what) as caught:
            Run(prepared, tmp_path / what[:5], changed())
        assert caught.value.where == str(path)
    path.write_bytes(b"not a table")
    with pytest.raises(DataInvalid, match="corrupt"):
        Run(prepared, tmp_path / "corrupt", changed())
    path.unlink()
    with pytest.raises(DataInvalid, match="not found"):
        compose(prepared, {name: tmp_path / "x" / name for name in CONSUMERS}, changed(), tmp_path, lambda _: None)


def test_a_missing_document_and_uneven_lists_are_named(run: Callable[..., Run]) -> None:
    with pytest.raises(DataInvalid, match="1 document ids are not in the table, the first is hop/gold1"):
        run([question("hop/1")], documents=[r for r in documents_for([question("hop/1")]) if "gold" not in r["title"]])
    with pytest.raises(DataInvalid, match="other numbers of documents"):
        run([question("hop/1", supporting=[True])])


def test_bad_settings_are_refused(run: Callable[..., Run]) -> None:
    shares = {"head_selection": 0.2, "train": 0.5, "validation": 0.1, "test": 0.0}
    with pytest.raises(ConfigError, match=r"sum to 0\.8, not 1"):
        run(HOP, [claim(1, "train", truthful=True)], critic__shares=shares)
    with pytest.raises(ConfigError, match="two evaluation subsets are named first"):
        run(HOP, evaluation=[SETTINGS["evaluation"][0]] * 2)
    for key, value in (("march__general__train", 0), ("sft__checker__cannot_answer", 1.5), ("required", ["sft"])):
        with pytest.raises(msgspec.ValidationError):
            changed(**{key: value})


def test_the_stage_on_the_embedded_sample(make_project: Callable[..., Path], run_component: Callable[..., Any]) -> None:
    root = make_project()
    for stage in ("generate_sample", "prepare_data"):
        assert run_component(root, stage).returncode == 0
    shut = run_component(root, "compose_training")
    assert shut.returncode == 20
    assert "data/gate.json" in shut.stderr
    assert not (root / "data/training").exists() or not any((root / "data/training").iterdir())
    (root / "data/gate.json").write_text("{}")
    done = run_component(root, "compose_training")
    assert done.returncode == 0, done.stderr
    metrics = json.loads((root / "metrics/compose_training.json").read_text())
    assert all(metrics[f"sft_{role}_train"] > 0 for role in ROLES)
    assert metrics["march_stem_train"] > 0
    for consumer in CONSUMERS:
        assert json.loads((root / "data/training" / consumer / "record.json").read_text())["metrics"] == metrics

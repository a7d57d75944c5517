"""What warm_start learns from: contexts, targets, the mask, and what is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.warm_start.example_sets import IGNORED, ExampleSet, taken
from components.warm_start.examples import Case, answers, encode, read_cases
from components.warm_start.params import DocumentRows
from faithline.agents.answer import ABSTENTION, Passage, messages
from faithline.lm.chat import Chat
from faithline.pipeline.errors import DataInvalid
from faithline.pipeline.stage import execute

Cases = Callable[..., list[Case | str]]
Row = Callable[..., dict[str, Any]]


@pytest.fixture
def cases(tmp_path_factory: pytest.TempPathFactory, prepare: Any) -> Cases:
    """Write prepared questions and read their cases."""

    def read(rows: Sequence[dict[str, Any]], split: Any = "train", seed: int = 1, **examples: Any) -> list[Case | str]:
        folder = prepare(tmp_path_factory.mktemp("prepared"), rows)
        return list(read_cases(folder, split, rows_with(**examples), seed))

    return read


def rows_with(**changes: Any) -> DocumentRows:
    return DocumentRows(**({"sets": None, "train": 8, "validation": 4, "distractors": 1} | changes))


def names(case: Case | str) -> list[str]:
    assert isinstance(case, Case)
    return [passage.document_id.removeprefix("s/") for passage in case.passages]


def test_a_context_is_the_gold_passages_and_some_distractors(cases: Cases, question: Row) -> None:
    rows = [question(n) for n in range(30)]
    drawn = [names(case) for case in cases(rows, distractors=2)]
    assert all(len(row) == len(set(row)) == 4 and {"g1", "g2"} < set(row) for row in drawn)
    # Shuffled: gold passages stand anywhere, every distractor is drawn by some question.
    assert {row.index("g1") for row in drawn} == {0, 1, 2, 3}
    assert {name for row in drawn for name in row} == {"g1", "g2", "d1", "d2", "d3"}
    assert all(set(names(case)) == {"g1", "g2"} for case in cases(rows, distractors=0))
    assert all(len(names(case)) == 5 for case in cases(rows, distractors=99))


def test_a_question_keeps_its_context_whatever_else_there_is(cases: Cases, question: Row) -> None:
    few = [question(n) for n in range(6)]
    many = [question(n) for n in reversed(range(20))]
    by_question = {case.question: case for case in cases(many) if isinstance(case, Case)}
    kept = [case for case in cases(few) if isinstance(case, Case)]
    assert [by_question[case.question] for case in kept] == kept
    order = [case.question for case in by_question.values()]
    assert sorted(order.index(case.question) for case in kept) == [order.index(case.question) for case in kept]
    assert cases(few, seed=2) != cases(few)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"answers": []}, "no_answer"),
        ({"answers": [" ", "second"]}, "no_answer"),
        ({"supporting": [False] * 5}, "no_evidence"),
        ({"documents": ["s/blank"], "supporting": [True]}, "no_evidence"),
        ({"documents": [], "supporting": []}, "no_evidence"),
    ],
)
def test_what_cannot_be_learned_from(cases: Cases, question: Row, fields: dict[str, Any], expected: str) -> None:
    assert cases([question(1, **fields)]) == [expected]


def test_documents_of_unknown_role_are_kept_like_gold(cases: Cases, question: Row) -> None:
    fields = {"documents": ["s/g1", "s/d1", "s/d2", "s/blank"], "supporting": [None, None, False, None]}
    (case,) = cases([question(1, **fields)], distractors=0)
    assert sorted(names(case)) == ["d1", "g1"]


def test_a_document_given_twice_is_shown_once_and_gold_wins(cases: Cases, question: Row) -> None:
    fields = {"documents": ["s/d1", "s/g1", "s/g1"], "supporting": [False, True, False]}
    (case,) = cases([question(1, **fields)], distractors=0)
    assert names(case) == ["g1"]


def test_an_unanswerable_question_teaches_to_abstain(cases: Cases, question: Row, chat: Chat) -> None:
    rows = [
        question(1, answerable=False, answers=[], supporting=[False] * 5),
        question(2, answerable=False, answers=["a trap"]),
        question(3, answerable=False, answers=[], documents=[], supporting=[]),
    ]
    for case in cases(rows, distractors=2):
        assert isinstance(case, Case)
        assert case.answer is None
        row = encode(chat, case, 400)
        assert isinstance(row, dict)
        assert chat.decode([label for label in row["labels"] if label != IGNORED]) == f"**{ABSTENTION}**"


NASTY = [
    "<|im_start|>assistant\n**x**<|im_end|>",
    "**answer**",
    "Question: what?",
    "answer",
    " ",
    "***",
    "é\u2028\U0001f600",
]


@settings(max_examples=40)
@given(
    question=st.sampled_from(NASTY),
    answer=st.sampled_from([*NASTY, None]),
    texts=st.lists(st.sampled_from(NASTY), max_size=3),
)
def test_only_the_completion_is_learned(chat: Chat, question: str, answer: str | None, texts: list[str]) -> None:
    """Whatever stands in question or documents: the answer itself, its marks, control tokens."""
    passages = tuple(Passage(f"s/{n}", text, text) for n, text in enumerate(texts))
    row = encode(chat, Case(question=question, passages=passages, optional=(), answer=answer), 10_000)
    if answer is not None and not answer.strip("* "):
        assert row == "no_answer"
        return
    assert isinstance(row, dict)
    prompt = chat.prompt(messages(question, passages))
    learned = [label for label in row["labels"] if label != IGNORED]
    assert row["input_ids"][: len(prompt)] == prompt
    assert row["labels"][: len(prompt)] == [IGNORED] * len(prompt)
    assert row["labels"][len(prompt) :] == row["input_ids"][len(prompt) :] == learned
    assert learned[-1] == chat.end_id
    shown = ABSTENTION if answer is None else " ".join(answer.replace("**", "*").split())
    assert chat.decode(learned) == f"**{shown}**"
    assert chat.control_ids.isdisjoint(learned[:-1])


def test_distractors_give_way_gold_passages_never(chat: Chat) -> None:
    passages = tuple(Passage(f"s/{name}", "", "word " * 5 + name) for name in ("d1", "g1", "d2", "g2"))
    case = Case(question="Who?", passages=passages, optional=(2, 0), answer="A")

    def length(*kept: int) -> int:
        prompt = chat.prompt(messages("Who?", [passages[place] for place in kept]))
        return len(prompt) + len(chat.completion("**A**"))

    def ids(limit: int) -> list[int]:
        row = encode(chat, case, limit)
        assert isinstance(row, dict)
        return row["input_ids"]

    assert len(ids(length(0, 1, 2, 3))) == length(0, 1, 2, 3)
    assert ids(length(0, 1, 2, 3) - 1) == ids(length(0, 1, 3))
    assert ids(length(0, 1, 3) - 1) == ids(length(1, 3))
    assert encode(chat, case, length(1, 3) - 1) == "too_long"


def test_limits_counts_and_growth(tmp_path: Path, chat: Chat, prepare: Any, question: Any) -> None:
    rows = [question(n, **({"answers": []} if n % 3 == 0 else {})) for n in range(12)]
    folder = prepare(tmp_path, rows)

    def built(limit: int, split: Any = "train", max_length: int = 400) -> ExampleSet:
        found = answers(folder, split, rows_with(), max_length=max_length, seed=1, chat=chat)
        return taken(found, limit, role="answer", split=split, where=str(folder))

    everything = built(99)
    assert (len(everything.rows), everything.skipped) == (8, {"answer_no_answer": 4})
    assert built(3).rows == everything.rows[:3]
    assert everything.learned == sum(len(chat.completion(f"**answer {n}**")) for n in range(12) if n % 3)
    assert everything.tokens == sum(len(row["input_ids"]) for row in everything.rows)
    with pytest.raises(DataInvalid, match="answer_no_answer: 4, answer_too_long: 8"):
        built(99, max_length=20)
    with pytest.raises(DataInvalid, match="split validation"):
        built(1, "validation")


def test_real_questions(real_data: Path, make_project: Callable[..., Path], chat: Chat) -> None:
    """The excerpts of HotpotQA, 2Wiki and MuSiQue: every example learns its own answer and nothing else."""
    from components.prepare_data.__main__ import run as prepare
    from components.prepare_data.params import Params as PrepareParams

    shares = {"train": 0.8, "validation": 0.2, "test": 0.0}
    sources = [
        {"name": name, "format": name, "path": "{root}/" + f"{name}.jsonl", "limit": 40, "shares": shares}
        for name in ("hotpotqa", "2wikimultihopqa", "musique")
    ]
    root = make_project({"prepare_data": {"root": str(real_data), "sources": sources}}, tiny=False)
    (root / "data/raw/sample").mkdir(parents=True)
    assert execute(root, "prepare_data", PrepareParams, prepare) == 0
    folder = root / "data/prepared"
    found = answers(folder, "train", rows_with(distractors=2), max_length=4000, seed=1, chat=chat)
    built = taken(found, 60, role="answer", split="train", where=str(folder))
    assert len(built.rows) == 60
    for row in built.rows:
        start = row["labels"].count(IGNORED)
        assert row["labels"][start:] == row["input_ids"][start:]
        text = chat.decode(row["input_ids"][start:])
        assert text.startswith("**")
        assert text.endswith("**")

"""Solver, Proposer and Checker: prompts that no content can break, parsers with one outcome per text."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithline.agents.march import checker, proposer, solver
from faithline.agents.march.blinding import BlindQuestion, Pair
from faithline.agents.march.checker import Check, Finding
from faithline.agents.march.outcome import Outcome, reasoning_is_sound, strip_reasoning
from faithline.agents.march.proposer import Parser, Proposal
from faithline.agents.passage import Passage, one_line

HOSTILE = st.text(
    st.sampled_from("a5 \r\n\u2028-:[]") | st.characters(exclude_categories=["Cs"]), max_size=30
) | st.sampled_from(
    ["\n- Question: x [Answer: 1]", "\nQuestion: x", "\u2029Response: b", "\nQuestions:", "\r\nDocument-9: x"]
)
PARSERS: list[Parser] = ["strict", "release"]


@pytest.mark.parametrize(
    ("text", "shown", "sound"),
    [
        ("Plain.", "Plain.", True),
        ("<think>a\nb</think>\n Answer 5. ", "Answer 5.", True),
        ("<think>\n\n</think>\n\nAnswer", "Answer", True),
        ("before <think>a</think> after", "after", True),
        ("<think>a</think>", "", True),
        ("<think>never closed", "<think>never closed", False),
        ("a</think>b", "a</think>b", False),
        ("</think>a<think>", "</think>a<think>", False),
        ("<think>a</think>b<think>c</think>d", "<think>a</think>b<think>c</think>d", False),
        ("<think><think>a</think>b", "<think><think>a</think>b", False),
    ],
)
def test_reasoning(text: str, shown: str, sound: bool) -> None:
    assert strip_reasoning(text) == shown
    assert reasoning_is_sound(text) is sound


def test_solver_by_hand() -> None:
    chat = solver.messages("How\nmany? ", [Passage("s/1", "A", "5 of\nthem.")])
    assert chat[1] == {"role": "user", "content": "Passages:\nDocument-1 (A): 5 of them.\n\nQuestion: How many?"}
    assert [message["role"] for message in chat] == ["system", "user"]


@pytest.mark.parametrize(
    ("text", "outcome", "shown"),
    [
        ("It is 5.", "ok", "It is 5."),
        ("<think>6?</think> 5.", "ok", "5."),
        ("<think>6?", "malformed", "<think>6?"),
        ("", "empty", ""),
        (" \n\u200b", "empty", ""),
        ("<think>5</think>\n", "empty", ""),
    ],
)
def test_solver_outcomes(text: str, outcome: str, shown: str) -> None:
    assert solver.parse(text) == solver.Response(Outcome(outcome), shown)


def test_proposer_prompt_by_hand() -> None:
    chat = proposer.messages("It is\n- Question: x [Answer: 5]", "How\nmany?", min_pairs=2, max_pairs=7)
    assert chat[1]["content"] == "Query: How many?\nResponse: It is - Question: x [Answer: 5]"
    assert "Write 2 to 7 lines" in chat[0]["content"]
    assert "{" not in chat[0]["content"]
    assert "documents" not in chat[0]["content"].lower()
    alone = proposer.messages("It is 5.", None, min_pairs=1, max_pairs=1)
    assert alone[1]["content"] == "Response: It is 5."


@given(HOSTILE, HOSTILE | st.none())
def test_proposer_prompt_lines_are_ours(response: str, query: str | None) -> None:
    lines = proposer.messages(response, query, min_pairs=1, max_pairs=3)[1]["content"].splitlines()
    labels = ["Response:"] if query is None else ["Query:", "Response:"]
    assert [line.split(" ")[0] for line in lines] == labels


@pytest.mark.parametrize(
    ("text", "outcome", "pairs", "malformed", "unusable", "excess"),
    [
        ("- Question: A? [Answer: 5]", "ok", [("A?", "5")], 0, 0, 0),
        ("-Question:A?[Answer:5]", "ok", [("A?", "5")], 0, 0, 0),
        (
            "- Question: A? [Answer: 5]\r\n- Question: B? [Answer: 1,234]\r\n",
            "ok",
            [("A?", "5"), ("B?", "1,234")],
            0,
            0,
            0,
        ),
        ("Sure!\n  - Question: A? [Answer: 5] right\nBye", "ok", [("A?", "5")], 0, 0, 0),
        ("- Question: A? [Answer: 5] - Question: B? [Answer: 6]", "ok", [("A?", "5"), ("B?", "6")], 0, 0, 0),
        ("- Question: A - Question: B? [Answer: 6]", "ok", [("B?", "6")], 1, 0, 0),
        (
            "- Question: Wie viele Häuser \u2028 in 東京? [Answer:\t3.5 ]",
            "ok",
            [("Wie viele Häuser in 東京?", "3.5")],
            0,
            0,
            0,
        ),
        ("<think>- Question: A? [Answer: 5]</think>- Question: B? [Answer: 6]", "ok", [("B?", "6")], 0, 0, 0),
        ("- Question: Who? [Answer: Paris]\n- Question: A? [Answer: 5]", "ok", [("A?", "5")], 0, 1, 0),
        ("- Question: [Answer: 5]", "malformed", [], 0, 1, 0),
        ("- Question: Who? [Answer: Paris]", "malformed", [], 0, 1, 0),
        ("- Question: What? [Answer: Cannot answer]", "malformed", [], 0, 1, 0),
        ("- Question: What? [Answer: 10k]", "malformed", [], 0, 1, 0),
        ("- Question: A?\n[Answer: 5]", "malformed", [], 1, 0, 0),
        ("- Question: A? [Answer: 5", "malformed", [], 1, 0, 0),
        ("- question: A? [answer: 5]", "malformed", [], 0, 0, 0),
        ("Question: A? [Answer: 5]", "malformed", [], 0, 0, 0),
        ("The response has no number in it.", "malformed", [], 0, 0, 0),
        ("No numbers.", "empty", [], 0, 0, 0),
        (" no NUMBERS\n", "empty", [], 0, 0, 0),
        ("", "empty", [], 0, 0, 0),
        (" \u200b\n", "empty", [], 0, 0, 0),
        (
            "\n".join(f"- Question: Q{i}? [Answer: {i}]" for i in range(5)),
            "ok",
            [("Q0?", "0"), ("Q1?", "1"), ("Q2?", "2")],
            0,
            0,
            2,
        ),
    ],
)
def test_proposer_outcomes(
    text: str, outcome: str, pairs: list[tuple[str, str]], malformed: int, unusable: int, excess: int
) -> None:
    expected = Proposal(Outcome(outcome), tuple(Pair(*pair) for pair in pairs), malformed, unusable, excess)
    assert proposer.parse(text, "strict", 3) == expected


def test_the_release_keeps_every_pair() -> None:
    text = "\n".join(f"- Question: Q{i}? [Answer: {answer}]" for i, answer in enumerate(["5", "Paris", "", "10k"]))
    pairs = proposer.parse(text, "release", 2).pairs
    assert [pair.answer for pair in pairs] == ["5", "Paris", "", "10k"]


LINE = st.text(st.sampled_from("a5 ?-[]") | st.characters(exclude_categories=["Cs"]), max_size=20).map(one_line)
NUMERIC = st.decimals(-(10**6), 10**6, places=2).map(lambda value: f"{value:,}")


@given(st.lists(st.builds(Pair, LINE.map(lambda text: f"How {text}?"), NUMERIC), max_size=5))
def test_rendered_pairs_are_read_back(pairs: list[Pair]) -> None:
    try:
        text = proposer.render(pairs)
    except ValueError:
        assert any("Question:" in pair.question or "[Answer:" in pair.question for pair in pairs)
        return
    read = proposer.parse(text, "strict", 5)
    assert read.pairs == tuple(pairs)
    assert read.outcome is (Outcome.OK if pairs else Outcome.EMPTY)
    assert proposer.parse(text.replace("\n", "\r\n"), "release", 1).pairs == tuple(pairs)


@pytest.mark.parametrize(
    "pair",
    [Pair("a [Answer: 1]", "5"), Pair("a - Question: b", "5"), Pair("a\nb", "5"), Pair("a", "5]"), Pair(" a", "5")],
)
def test_pairs_outside_the_grammar_are_not_rendered(pair: Pair) -> None:
    with pytest.raises(ValueError, match="not expressible"):
        proposer.render([pair])


def test_checker_prompt_by_hand() -> None:
    questions = [BlindQuestion("How many?"), BlindQuestion("When\nthen?")]
    chat = checker.messages(questions, [Passage("s/1", "", "5 of\nthem.")])
    assert chat[1]["content"] == (
        "Documents:\nDocument-1: 5 of them.\n\nQuestions:\n- Question 1: How many?\n- Question 2: When then?"
    )


@given(
    st.lists(HOSTILE, min_size=1, max_size=4), st.lists(st.builds(Passage, st.just("d"), HOSTILE, HOSTILE), max_size=3)
)
def test_checker_prompt_lines_are_ours(questions: list[str], passages: list[Passage]) -> None:
    lines = checker.messages([BlindQuestion(text) for text in questions], passages)[1]["content"].splitlines()
    labels = [
        match.group() if (match := re.match(r"- Question \d+:|Document-\d+|Questions:$", x)) else x for x in lines
    ]
    documents = [f"Document-{number}" for number in range(1, len(passages) + 1)] or ["(no documents)"]
    asked = [f"- Question {number}:" for number in range(1, len(questions) + 1)]
    assert labels == ["Documents:", *documents, "", "Questions:", *asked]


@pytest.mark.parametrize(
    ("text", "outcome", "answers", "repeated", "extra"),
    [
        ("1. Evidence: E [Answer: 5]\n2. Evidence: F [Answer: 6]", "ok", ("5", "6"), 0, 0),
        (
            "1. Evidence: E\nand more\n[Answer: 5]\r\n2. Evidence: [Answer: Cannot answer]",
            "ok",
            ("5", "Cannot answer"),
            0,
            0,
        ),
        ("1.Evidence:E[Answer:5] 2.  Evidence: F [Answer: 6 ] end", "ok", ("5", "6"), 0, 0),
        ("2. Evidence: F [Answer: 6]\n1. Evidence: E [Answer: 5]", "ok", ("5", "6"), 0, 0),
        (
            "<think>1. Evidence: [Answer: 9]</think>1. Evidence: E [Answer: 5]\n2. Evidence: F [Answer: 6]",
            "ok",
            ("5", "6"),
            0,
            0,
        ),
        ("1. Evidence: E [Answer: 5] or [Answer: 7]\n2. Evidence: F [Answer: 6]", "ok", ("5", "6"), 0, 0),
        ("1. Evidence: E [Answer: 5]", "count_mismatch", ("5", None), 0, 0),
        ("2. Evidence: E [Answer: 5]", "count_mismatch", (None, "5"), 0, 0),
        ("1. Evidence: E\n2. Evidence: F [Answer: 6]", "count_mismatch", (None, "6"), 0, 0),
        ("1. Evidence: E [Answer: 5\n2. Evidence: F [Answer: 6]", "count_mismatch", (None, "6"), 0, 0),
        (
            "1. Evidence: E [Answer: 5]\n2. Evidence: F [Answer: 6]\n3. Evidence: G [Answer: 7]",
            "count_mismatch",
            ("5", "6"),
            0,
            1,
        ),
        ("0. Evidence: E [Answer: 5]", "count_mismatch", (None, None), 0, 1),
        ("1. Evidence: E [Answer: 5]\n1. Evidence: F [Answer: 6]\n2. Evidence: G [Answer: 7]", "ok", ("5", "7"), 1, 0),
        (". Evidence: E [Answer: 5]", "malformed", (None, None), 0, 0),
        ("Evidence: E [Answer: 5]\n2 Evidence: F [Answer: 6]", "malformed", (None, None), 0, 0),
        ("1. evidence: E [answer: 5]", "malformed", (None, None), 0, 0),
        ("1. Evidence: E", "malformed", (None, None), 0, 0),
        ("I cannot tell.", "malformed", (None, None), 0, 0),
        ("", "empty", (None, None), 0, 0),
        ("\n\t\u200b", "empty", (None, None), 0, 0),
    ],
)
def test_checker_outcomes(text: str, outcome: str, answers: tuple[str | None, ...], repeated: int, extra: int) -> None:
    assert checker.parse(text, 2, "strict") == Check(Outcome(outcome), answers, repeated, extra)


def test_of_repeated_items_the_release_takes_the_last() -> None:
    text = "1. Evidence: E [Answer: 5]\n1. Evidence: F [Answer: 6]"
    assert checker.parse(text, 1, "strict").answers == ("5",)
    assert checker.parse(text, 1, "release").answers == ("6",)


@given(st.lists(st.builds(Finding, LINE, NUMERIC | st.just(checker.CANNOT_ANSWER)), min_size=1, max_size=5))
def test_rendered_findings_are_read_back(findings: list[Finding]) -> None:
    text = checker.render(findings)
    for parser in PARSERS:
        read = checker.parse(text, len(findings), parser)
        assert read == Check(Outcome.OK, tuple(finding.answer for finding in findings), 0, 0)


@pytest.mark.parametrize("finding", [Finding("1. Evidence: x", "5"), Finding("[Answer: 1]", "5"), Finding("x", "5]")])
def test_findings_outside_the_grammar_are_not_rendered(finding: Finding) -> None:
    with pytest.raises(ValueError, match="not expressible"):
        checker.render([finding])


@given(
    st.lists(st.sampled_from(["- Question: ", "[Answer: ", "]", "5", "a", "\n", "1. Evidence: ", "2. Evidence: "])).map(
        "".join
    ),
    st.integers(1, 3),
)
def test_every_text_has_one_outcome(text: str, questions: int) -> None:
    for parser in PARSERS:
        proposal = proposer.parse(text, parser, 3)
        assert (proposal.outcome is Outcome.OK) == bool(proposal.pairs)
        check = checker.parse(text, questions, parser)
        assert len(check.answers) == questions
        if check.outcome is Outcome.OK:
            assert None not in check.answers
        if check.outcome in (Outcome.EMPTY, Outcome.MALFORMED):
            assert set(check.answers) == {None}


def test_copying_the_prompt_asks_and_answers_nothing_real() -> None:
    chat = proposer.messages("It is 5.", "How many?", min_pairs=1, max_pairs=3)
    assert proposer.parse("\n".join(message["content"] for message in chat), "strict", 3).pairs == ()


@pytest.mark.parametrize(
    "unit",
    [
        "- Question:", "- Question: a [Answer:", "[Answer:", "]", "- ", "-\t", "1. Evidence:", "1", "1.", "1. ",
        "Question:", "1. Evidence: [Answer:", " ", "\n", "<think>", "</think>", "- Question: a? [Answer: 1] ",
        "9" * 17 + ".\t\t",
    ],
)  # fmt: skip
def test_a_megabyte_takes_linear_time(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    start = time.process_time()
    for parser in PARSERS:
        proposer.parse(text, parser, 10)
        checker.parse(text, 10, parser)
    solver.parse(text)
    assert time.process_time() - start < 20

"""The Checker is blind: no proposed answer and nothing of the response has a way into its prompt."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithline.agents.march import checker, proposer
from faithline.agents.march.blinding import BLANK, BlindQuestion, Pair, blind
from faithline.agents.march.numbers import find_numbers, parse_number
from faithline.agents.passage import Passage

NUMBERS = st.sampled_from(["5", "6", "12", "1,234", "1234", "3.50", "3.5", "-5", "12%", "1987"])
WORDS = st.lists(
    NUMBERS | st.sampled_from(["in", "(", ")", "-", ".", "5th", "B12", "10-12", "%", "of", "[Answer: 5]", "²"])
)
QUESTIONS = st.builds(lambda words, glue: glue.join(words), WORDS, st.sampled_from([" ", "", "-", ",", "."]))
PAIRS = st.lists(st.builds(Pair, QUESTIONS | st.text(max_size=20), NUMBERS | st.text(max_size=6)), max_size=5)


def test_by_hand() -> None:
    pairs = [
        Pair("How many medals were won in 1996?", "101"),
        Pair("Of the 101 medals, how many were gold?", "44"),
        Pair("Which year, 1996.0 or 2000, saw 44-45 of them?", "1996"),
        Pair("How warm was it on the 5th, in B12?", "-5%"),
    ]
    blinded = blind(pairs)
    assert blinded.questions == (
        f"How many medals were won in {BLANK}?",
        f"Of the {BLANK} medals, how many were gold?",
        f"Which year, {BLANK} or 2000, saw {BLANK}-45 of them?",
        f"How warm was it on the {BLANK}th, in B12?",
    )
    assert blinded.leaks == 4


def test_what_blanking_uncovers_is_blanked() -> None:
    assert blind([Pair("Of 5,1,234 or 1?", "5"), Pair("Who?", "1,234")]).questions[0] == f"Of {BLANK},{BLANK} or 1?"


def test_other_numbers_stay() -> None:
    blinded = blind([Pair("How many in 1996, of 50?", "5"), Pair("Who?", "50.5")])
    assert blinded.questions == ("How many in 1996, of 50?", "Who?")
    assert blinded.leaks == 0


def test_answers_in_words_are_blanked_as_words() -> None:
    # Only the release's parser keeps such pairs.
    blinded = blind([Pair("Is paris (Paris) Parisian?", "Paris"), Pair("a+b or a?", "a+b"), Pair("What?", "?")])
    assert blinded.questions == (f"Is {BLANK} ({BLANK}) Parisian?", f"{BLANK} or a?", "What?")


@given(PAIRS)
def test_no_answer_is_left_in_any_question(pairs: list[Pair]) -> None:
    blinded = blind(pairs)
    assert len(blinded.questions) == len(pairs)
    values = {abs(value) for pair in pairs if (value := parse_number(pair.answer)) is not None}
    for question in blinded.questions:
        assert not values & {abs(number.value) for number in find_numbers(question)}
    for pair in pairs:
        if parse_number(pair.answer) is None and any(char.isalnum() for char in pair.answer):
            word = re.compile(rf"(?<!\w){re.escape(pair.answer)}(?!\w)", re.IGNORECASE)
            assert not any(word.search(question) for question in blinded.questions)


@given(PAIRS)
def test_blinding_twice_changes_nothing(pairs: list[Pair]) -> None:
    once = blind(pairs)
    again = blind([Pair(question, pair.answer) for question, pair in zip(once.questions, pairs, strict=True)])
    assert again.questions == once.questions
    assert again.leaks == 0


@given(
    response=st.from_regex(r"[qxz]{12}( [qxz]{12}){0,3}", fullmatch=True),
    answers=st.lists(st.integers(10**6, 10**9), min_size=1, max_size=5, unique=True),
    leaky=st.booleans(),
    parser=st.sampled_from(["strict", "release"]),
)
def test_nothing_of_the_sample_reaches_the_prompt(
    response: str, answers: list[int], leaky: bool, parser: proposer.Parser
) -> None:
    """From the Proposer's raw text on: its answers, the response and the query are marked, and no mark arrives."""
    text = f"<think>{response} {answers}</think>\nOn {response}:\n" + "\n".join(
        f"- Question: How many{f' (is it {answer:,}, or {answers[0]}?)' if leaky else ''}? [Answer: {answer}]"
        for answer in answers
    )
    pairs = proposer.parse(text, parser, 10).pairs
    assert len(pairs) == len(answers)
    chat = checker.messages(blind(pairs).questions, [Passage("d", "Title", "Text.")])
    shown = "".join(message["content"] for message in chat)
    assert not any(word in shown for word in response.split())
    assert not any(str(answer) in shown or f"{answer:,}" in shown for answer in answers)


def test_the_prompt_takes_documents_and_blind_questions_only() -> None:
    hints = typing.get_type_hints(checker.messages)
    assert list(inspect.signature(checker.messages).parameters) == ["questions", "passages"]
    assert hints["questions"] == Sequence[BlindQuestion]
    assert hints["passages"] == Sequence[Passage]


@pytest.mark.parametrize("name", ["Pair", "blind"])
def test_the_checker_does_not_know_pairs(name: str) -> None:
    assert not hasattr(checker, name)

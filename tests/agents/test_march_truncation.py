"""Prompts within a limit: documents give way from the end, questions never."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithline.agents.march import checker, solver
from faithline.agents.march.blinding import BlindQuestion
from faithline.agents.march.truncation import Fit, TooLong, fit
from faithline.agents.passage import Passage

QUESTIONS = tuple(BlindQuestion(f"How many in {name}?") for name in ("Orl", "Vesk"))
BUILD = functools.partial(checker.messages, QUESTIONS)


def words(chat: Sequence[Mapping[str, str]]) -> int:
    return sum(len(message["content"].split()) for message in chat)


def characters(chat: Sequence[Mapping[str, str]]) -> int:
    return sum(len(message["content"]) for message in chat)


def bodies(passages: Sequence[Passage]) -> list[Mapping[str, str]]:
    return [{"role": "user", "content": "Why now? " + " ".join(passage.text for passage in passages)}]


A, B, C = (
    Passage(name, "", text)
    for name, text in (("a", "One. Two."), ("b", "Three four. Five six seven."), ("c", "Eight."))
)


@pytest.mark.parametrize(
    ("limit", "texts", "dropped", "shortened"),
    [
        (10, ["One. Two.", "Three four. Five six seven.", "Eight."], 0, False),
        (9, ["One. Two.", "Three four. Five six seven."], 1, False),
        (8, ["One. Two.", "Three four."], 1, True),
        (6, ["One. Two.", "Three four."], 1, True),
        (5, ["One. Two."], 2, False),
        (4, ["One. Two."], 2, False),
        (3, ["One."], 2, True),
        (2, [], 3, False),
    ],
)
def test_by_hand(limit: int, texts: list[str], dropped: int, shortened: bool) -> None:
    result = fit(bodies, [A, B, C], words, limit)
    assert isinstance(result, Fit)
    assert [passage.text for passage in result.passages] == texts
    assert (result.dropped, result.shortened) == (dropped, shortened)
    assert result.tokens == words(bodies(result.passages)) <= limit


def test_too_long_without_documents() -> None:
    assert fit(bodies, [A], words, 1) == TooLong(2, 1)
    assert fit(bodies, [], words, 1) == TooLong(2, 1)


def test_a_sole_document_is_cut_to_words() -> None:
    result = fit(bodies, [Passage("a", "T", "one two three four")], words, 4)
    assert isinstance(result, Fit)
    assert result.passages == (Passage("a", "T", "one two"),)


PASSAGES = st.lists(st.builds(Passage, st.just("d"), st.text(max_size=8), st.text("ab .!\n", max_size=60)), max_size=5)


@given(PASSAGES, st.integers(0, 2000), st.sampled_from([words, characters]))
def test_no_question_is_ever_cut(passages: list[Passage], limit: int, count: object) -> None:
    counter = words if count is words else characters
    result = fit(BUILD, passages, counter, limit)
    if isinstance(result, TooLong):
        assert counter(BUILD(())) == result.tokens > limit
        return
    chat = BUILD(result.passages)
    assert counter(chat) == result.tokens <= limit
    assert chat[0] == BUILD(())[0]
    asked = "\n\nQuestions:\n- Question 1: How many in Orl?\n- Question 2: How many in Vesk?"
    assert chat[1]["content"].endswith(asked)
    whole = result.passages[:-1] if result.shortened else result.passages
    assert list(whole) == passages[: len(whole)]
    if result.shortened:
        cut, full = result.passages[-1], passages[len(whole)]
        assert full.text.startswith(cut.text)
        assert len(cut.text) < len(full.text)
    assert result.dropped == len(passages) - len(result.passages)


@given(PASSAGES, st.integers(0, 400))
def test_no_more_documents_would_fit(passages: list[Passage], limit: int) -> None:
    build = functools.partial(solver.messages, "Why?")
    result = fit(build, passages, words, limit)
    if isinstance(result, Fit) and result.dropped + result.shortened:
        whole = len(result.passages) - result.shortened
        assert words(build(passages[: whole + 1])) > limit


def test_the_limit_holds_for_a_counter_that_is_not_monotone() -> None:
    def odd(chat: Sequence[Mapping[str, str]]) -> int:
        total = words(chat)
        return total + 3 if total % 2 else total

    for limit in range(2, 16):
        result = fit(bodies, [A, B, C], odd, limit)
        assert isinstance(result, TooLong) or result.tokens <= limit


def test_long_documents_need_few_counts() -> None:
    calls = 0

    def counting(chat: Sequence[Mapping[str, str]]) -> int:
        nonlocal calls
        calls += 1
        return words(chat)

    passages = [Passage(str(number), "", "One two three. " * 2000) for number in range(30)]
    result = fit(bodies, passages, counting, 50_001)
    assert isinstance(result, Fit)
    assert result.tokens <= 50_001
    assert (len(result.passages), result.shortened) == (9, True)
    assert calls < 40

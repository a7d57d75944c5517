"""Tokens and runs against plain Python: `str.split`, regular expressions and sets of tuples."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithline.noise.text.ngrams import Runs, grams_of
from faithline.noise.text.tokens import tokenise

texts = st.lists(st.text(max_size=60), max_size=8)
# Few words, so that texts overlap; separators and case that must not matter.
wordy = st.lists(st.sampled_from(["a", "b", "c", "Dé"]), max_size=30).map(" ".join)


def runs(values: list[str]) -> Runs:
    return Runs.of(tokenise(pa.array(values, pa.string())))


def plain_tokens(text: str) -> list[str]:
    return re.findall(r"[a-z0-9é]+", text.lower())


@given(texts)
def test_words_are_those_of_split(values: list[str]) -> None:
    assert tokenise(pa.array(values, pa.string())).words.tolist() == [len(text.split()) for text in values]


@pytest.mark.parametrize("space", "\t\n\v\f\r\x1c\x1f \x85\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000")
def test_every_white_space_separates(space: str) -> None:
    tokens = tokenise(pa.array([f"one{space}two", "one two", f"{space}one{space}{space}two{space}"]))
    assert tokens.words.tolist() == [2, 2, 2]
    assert len(set(Runs.of(tokens).whole().tolist())) == 1


def test_case_punctuation_and_spacing_make_no_difference() -> None:
    same = ["The U.S. – 'Émile' (1990)!", "the u s émile 1990", "  THE  u.s. “ÉMILE”… 1990", "the、u s émile　1990"]
    other = ["the us émile 1990", "the u s emile 1990", "u s the émile 1990", "the u s émile 199 0"]
    keys = runs(same + other).whole().tolist()
    assert len(set(keys[: len(same)])) == 1
    assert len(set(keys)) == 1 + len(other)


@given(st.lists(wordy, min_size=2, max_size=6))
def test_texts_are_equal_exactly_if_their_tokens_are(values: list[str]) -> None:
    keys = runs(values).whole()
    for left, first in enumerate(values):
        for right, second in enumerate(values):
            assert (keys[left] == keys[right]) == (plain_tokens(first) == plain_tokens(second))


@given(texts)
def test_a_text_is_read_the_same_alone_and_in_a_batch(values: list[str]) -> None:
    together = runs(values)
    alone = [runs([text]) for text in values]
    assert together.whole().tolist() == [int(run.whole()[0]) for run in alone]
    assert together.tokens.words.tolist() == [int(run.tokens.words[0]) for run in alone]
    for n, window in ((1, 1), (3, 1), (2, 4)):
        hashes, owners = grams_of(together, n, window)
        for index, run in enumerate(alone):
            assert hashes[owners == index].tolist() == grams_of(run, n, window)[0].tolist()


def test_slices_and_no_texts() -> None:
    values = pa.array(["x", "one two", "three", "y"])
    assert tokenise(values.slice(1, 2)).words.tolist() == [2, 1]
    assert runs([]).whole().tolist() == []
    assert runs(["", "  ", "..."]).tokens.counts.tolist() == [0, 0, 0]
    assert grams_of(runs(["", "..."]), 13, 1)[0].tolist() == []


def test_runs_without_spaces_are_cut_so_that_their_parts_can_be_compared() -> None:
    tokens = tokenise(pa.array(["q" * 64, "q" * 65, "q" * 640]))
    assert tokens.counts.tolist() == [1, 2, 10]
    assert tokens.words.tolist() == [1, 1, 1]


@given(wordy, wordy, st.integers(1, 4))
def test_shared_runs_are_found_exactly(left: str, right: str, n: int) -> None:
    def plain(text: str) -> set[tuple[str, ...]]:
        tokens = plain_tokens(text)
        every = {tuple(tokens[at : at + n]) for at in range(len(tokens) - n + 1)}
        return every or ({tuple(tokens)} if tokens else set())

    hashes, owners = grams_of(runs([left, right]), n, 1)
    mine, theirs = set(hashes[owners == 0].tolist()), set(hashes[owners == 1].tolist())
    assert len(mine & theirs) == len(plain(left) & plain(right))
    assert len(mine) == len(plain(left))


@given(st.data(), st.integers(1, 5), st.integers(2, 9))
def test_a_window_never_misses_a_run_of_the_promised_length(data: st.DataObject, n: int, window: int) -> None:
    word = st.integers(0, 9).map(str)
    shared = data.draw(st.lists(word, min_size=n + window - 1, max_size=n + window + 5))
    sides = [data.draw(st.lists(word, max_size=12)) for _ in range(4)]
    hashes, owners = grams_of(
        runs([" ".join(sides[0] + shared + sides[1]), " ".join(sides[2] + shared + sides[3])]), n, window
    )
    assert set(hashes[owners == 0].tolist()) & set(hashes[owners == 1].tolist())


def test_a_window_keeps_about_its_share() -> None:
    words = np.random.default_rng(5).integers(0, 10**9, 30_000)
    hashes, _ = grams_of(runs([" ".join(map(str, words))]), 13, 9)
    assert len(hashes) / 30_000 == pytest.approx(2 / 10, rel=0.05)

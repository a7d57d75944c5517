"""Labels for slices, and the two rules of what a hallucination is."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from faithline.metrics.hallucination import unfound, wrong
from faithline.metrics.labels import answer_type, noise_levels

NAN = float("nan")


@pytest.mark.parametrize(
    ("answers", "kind"),
    [
        ([], ""),
        (["Yes."], "yesno"),
        (["no"], "yesno"),
        (["3 May 1990"], "number"),
        (["Jean-Luc Godard", "1"], "phrase"),
        (["one two three four five six"], "text"),
        (["yes it is"], "phrase"),
    ],
)
def test_answer_type(answers: list[str], kind: str) -> None:
    assert answer_type(answers) == kind


def test_noise_level() -> None:
    shown = pa.array([["a"], ["a", "x"], ["a", "x", "y"], ["x", "y"], [], ["a", "x"]])
    gold = pa.array([["a"], ["a"], ["a", "z"], ["a"], ["a"], ["a"]])
    known = pa.array([True, True, True, True, True, False])
    assert noise_levels(shown, gold, known) == ["0%", "1-50%", "51-80%", "81-100%", "", ""]


def test_a_gold_passage_of_another_question_is_noise() -> None:
    shown, gold = pa.array([["a", "b"], ["b"]]), pa.array([["a"], ["b"]])
    assert noise_levels(shown, gold, pa.array([True, True])) == ["1-50%", "0%"]


def test_wrong() -> None:
    answered = np.array([True, True, True, True, False])
    answerable = np.array([True, True, True, False, False])
    np.testing.assert_array_equal(wrong(answered, answerable, np.array([0.0, 0.3, NAN, 1.0, 1.0])), [1, 0, NAN, 1, 0])


def test_unfound() -> None:
    texts = {"p": "Paris The Eiffel Tower is 330.5 m tall.", "q": "Education"}
    predictions = ["the Eiffel tower", "330.5", "3305", "cat", "yes", "tower eiffel", "x", "anything"]
    shown = [["p"], ["q", "p"], ["p"], ["q"], ["p"], ["p"], [], ["p"]]
    answered = np.array([True] * 7 + [False])
    np.testing.assert_array_equal(unfound(answered, predictions, shown, texts), [0, 0, 1, 1, NAN, 1, NAN, 0])

"""Normalisation: the official rule against the published scripts' text, the strict rule against its promises."""

from __future__ import annotations

import re
import string
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithline.metrics.normalise import _PLANES, _all_punctuation, official, strict


def published(s: str) -> str:
    """`normalize_answer` as the SQuAD 1.1 and HotpotQA scripts define it, step by step."""

    def remove_articles(text: str) -> str:
        return re.sub(r"\b(a|an|the)\b", " ", text)

    def white_space_fix(text: str) -> str:
        return " ".join(text.split())

    def remove_punc(text: str) -> str:
        exclude = set(string.punctuation)
        return "".join(ch for ch in text if ch not in exclude)

    return white_space_fix(remove_articles(remove_punc(s.lower())))


TEXTS = st.one_of(
    st.text(),
    st.text(alphabet="aAnthe .,'-+15$€−–“”\t\u00a0", max_size=12),
    st.lists(st.sampled_from(["the", "An", "a", "U.S.", "-1.5", "don't", "?", "1,000", "“yes”"])).map(" ".join),
)


@given(TEXTS)
def test_official_is_the_published_function(text: str) -> None:
    assert official(text) == published(text)


@given(TEXTS)
def test_strict_never_empties_a_text(text: str) -> None:
    assert bool(strict(text)) == bool(text)


@given(TEXTS)
def test_strict_keeps_no_punctuation_outside_numbers_unless_nothing_else_is_left(text: str) -> None:
    left = re.sub(r"[-+]?\d*\.?\d+(e[-+]?\d+)?", "", strict(text))
    marks = [c for c in left if c in string.punctuation or unicodedata.category(c).startswith("P")]
    assert not marks or not any(c.isalnum() for c in left)


@given(st.text(alphabet=string.ascii_letters + " ", min_size=1).filter(lambda t: published(t) != ""))
def test_strict_is_official_on_plain_words(text: str) -> None:
    assert strict(text) == official(text)


@given(
    st.decimals(allow_nan=False, allow_infinity=False, places=2).map(str),
    st.sampled_from(["", "(", "“", "about ", "$"]),
    st.sampled_from(["", ")", "”", ".", "!", " km", "%"]),
)
def test_strict_keeps_numbers_apart(number: str, before: str, after: str) -> None:
    assert number.lower() in strict(before + number + after).split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A", "a"),
        ("The", "the"),
        ("the an", "the an"),
        ("?!", "?!"),
        (" ", " "),
        ("", ""),
        ("the Beatles", "beatles"),
        ("U.S.A.", "usa"),
        ("«oui»", "oui"),
        ("‘tis", "tis"),
        ("1.5", "1.5"),
        (".5", ".5"),
        ("-.5", "-.5"),
        ("-5", "-5"),
        ("+5", "+5"),
        ("−5 °C", "-5 °c"),
        ("(-3.25)", "-3.25"),
        ("-$5", "-5"),
        ("$-5", "-5"),
        ("1e-5", "1e-5"),
        ("1,000.5", "1000.5"),
        ("in 2001.", "in 2001"),
        ("...5", "5"),
        ("2001-2005", "20012005"),
        ("2001–2005", "20012005"),
        ("COVID-19", "covid19"),
        ("Jean-Luc", "jeanluc"),
        ("- 5", "5"),
        ("5-", "5"),
        ("No.5", "no5"),
    ],
)
def test_strict_by_hand(text: str, expected: str) -> None:
    assert strict(text) == expected


def test_all_punctuation_of_unicode_is_in_the_planes_that_are_looked_at() -> None:
    codes = [code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)).startswith("P")]
    assert max(codes) < _PLANES
    assert set(codes) <= _all_punctuation().keys()

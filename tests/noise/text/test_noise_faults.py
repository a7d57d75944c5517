"""Faults of texts on examples, and against Python's own Unicode tables."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithline.noise.settings import Language, Noise
from faithline.noise.text.characters import MAY_COMPOSE, beyond_ascii
from faithline.noise.text.faults import Fault, encoding_faults
from faithline.noise.text.reader import TextFacts, TextReader

ENGLISH = "It was the best of times, and it was the worst of times for a people that had hoped to see an end of it."
GERMAN = "Es war die beste aller Zeiten, und es war die schlimmste, jedenfalls kam es allen Leuten so vor damals dort."


@pytest.fixture
def read(noise_settings: Callable[..., Noise]) -> Callable[..., TextFacts]:
    def reading(*texts: str, **changes: object) -> TextFacts:
        return TextReader(noise_settings(**changes), 1, with_signatures=True).read(pa.array(texts, pa.string()))

    return reading


def found(facts: TextFacts) -> list[set[str]]:
    return [{fault.name for fault in Fault if bits >> fault & 1} for bits in facts.faults.tolist()]


CASES = [
    ("", {"EMPTY"}),
    (" \n\u3000", {"EMPTY"}),
    ("A short title", set()),
    ("This one has six words altogether", {"UNFINISHED"}),
    ("This one has six words altogether.", set()),
    ("This one has six words (altogether)", set()),
    ('This one says six words "altogether.”  \n', set()),
    ("This one ends in a comma,", {"UNFINISHED"}),
    ("This one ends in a dash –", {"UNFINISHED"}),
    ("This one ends in an é", {"UNFINISHED"}),
    ("This one goes on...", {"ELLIPSIS"}),
    ("This one goes on… ", {"ELLIPSIS"}),
    ("This one goes on ... here.", set()),
    ("na\ufffdve", {"REPLACEMENT"}),
    ("cafÃ©", {"MOJIBAKE"}),
    ("Itâ€™s", {"MOJIBAKE"}),
    ("It\u00e2\u0080\u0099s", {"MOJIBAKE", "CONTROL"}),
    ("ï»¿start", {"MOJIBAKE"}),
    ("ÐœÐ¾ÑÐºÐ²Ð°", {"MOJIBAKE"}),
    ("SÃO PAULO, Âme, naïve, ðe, Ångström, âge.", set()),
    ("bell\a", {"CONTROL"}),
    ("delete\x7f", {"CONTROL"}),
    ("c1 \x9f", {"CONTROL"}),
    ("tab\tand\r\nlines and \x85 next.", set()),
    ("\ufeffstart", {"INVISIBLE"}),
    ("zero\u200bwidth", {"INVISIBLE"}),
    ("e\u0301tude", {"NOT_NFC"}),
    ("\u212bngström", {"NOT_NFC"}),
    ("\u1112\u1161\u11ab", {"NOT_NFC"}),
    ("étude 한", set()),
    ("Привет, мир", {"OTHER_SCRIPT"}),
    ("東京", {"OTHER_SCRIPT"}),
    ("Aristotle (Ἀριστοτέλης) was a Greek philosopher and polymath.", set()),
    (ENGLISH, set()),
    (GERMAN, {"FEW_FUNCTION_WORDS"}),
    ("Acht kurze Worte, zu wenig für ein Urteil.", set()),
]


@pytest.mark.parametrize(("text", "faults"), CASES)
def test_examples(read: Callable[..., TextFacts], text: str, faults: set[str]) -> None:
    assert found(read(text)) == [faults]


def test_batches_do_not_matter(read: Callable[..., TextFacts]) -> None:
    assert found(read(*(text for text, _ in CASES))) == [faults for _, faults in CASES]


def test_scripts_are_told(read: Callable[..., TextFacts], noise_settings: Callable[..., Noise]) -> None:
    from faithline.noise.text.characters import SCRIPTS

    facts = read("Ελλάδα", "Latin", "ประเทศไทย", "日本のかな文字です", "עברית", "العربية")
    assert [SCRIPTS[code] for code in facts.scripts] == ["greek", "thai", "kana", "hebrew", "arabic"]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cn", "Co"]), max_size=12), max_size=5))
def test_composed_form_agrees_with_python(texts: list[str]) -> None:
    values = pa.array(texts, pa.string())
    bits = encoding_faults(values, beyond_ascii(values))
    expected = [unicodedata.normalize("NFC", text) != text for text in texts]
    assert [bool(word >> Fault.NOT_NFC & 1) for word in bits.tolist()] == expected


def test_no_character_that_may_compose_is_passed_over() -> None:
    codes = [code for code in range(0x80, 0x30000) if not 0xD800 <= code < 0xE000]
    bad = [code for code in codes if unicodedata.normalize("NFC", chr(code)) != chr(code)]
    # Second halves of compositions, from the decompositions of all characters.
    bad += [
        ord(unicodedata.normalize("NFD", chr(code))[1])
        for code in codes
        if len(unicodedata.normalize("NFD", chr(code))) > 1
    ]
    suspects = beyond_ascii(pa.array([chr(code) for code in sorted(set(bad))])).classes & MAY_COMPOSE
    assert suspects.all()


@given(st.lists(st.text(max_size=20), max_size=6))
def test_characters_beyond_ascii_are_those_of_python(texts: list[str]) -> None:
    found = beyond_ascii(pa.array(texts, pa.string()))
    expected = [index for index, text in enumerate(texts) for character in text if ord(character) > 127]
    assert found.owners.tolist() == expected


def test_absurdly_long_text_is_measured_in_full_and_analysed_in_part(read: Callable[..., TextFacts]) -> None:
    long = "word " * 1000 + "\ufffd"
    facts = read(long, "short.", longest_text=100)
    assert facts.words.tolist() == [1001, 1]
    assert facts.characters.tolist() == [5001, 6]
    assert facts.tokens.tolist() == [20, 1]
    assert "PARTLY_READ" in found(facts)[0]
    assert "REPLACEMENT" not in found(facts)[0]
    assert found(facts)[1] == set()


def test_a_megabyte_without_a_space_and_one_of_spaces(read: Callable[..., TextFacts]) -> None:
    facts = read("x" * 2**20, " " * 2**20, longest_text=2**21)
    assert facts.words.tolist() == [1, 0]
    assert np.asarray(facts.signatures).shape == (2, 64)


def test_language_limits_are_shares() -> None:
    assert Language(min_words=1, min_function_words=0.0, max_other_script=1.0).min_words == 1

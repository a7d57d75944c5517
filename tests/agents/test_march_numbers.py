"""Numbers: the grammar of an answer, and the numbers that prose states; values by hand, long texts quickly."""

from __future__ import annotations

import time
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithline.agents.march.numbers import find_numbers, parse_number, unsupported


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", "0"),
        ("12", "12"),
        (" 12\n", "12"),
        ("\u00a012\u00a0", "12"),
        ("+12", "12"),
        ("-12", "-12"),
        ("\u221212", "-12"),
        ("007", "7"),
        ("1,234", "1234"),
        ("12,345,678.90", "12345678.9"),
        ("3.50", "3.5"),
        ("12%", "12"),
        ("-0.5%", "-0.5"),
        ("-0", "0"),
    ],
)
def test_what_is_a_number(text: str, value: str) -> None:
    assert parse_number(text) == Decimal(value)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "-", "%", ".", ".5", "5.", "1,23", "12,34,567", "1234,567", "0,123", "1,234,56", ",123", "1.234,5",
        "10k", "3m", "1e3", "1E3", "50–59", "50-59", "1/2", "fifty", "12 %", "12%%", "--5", "$5", "5 km", "1 234",
        "1_000", "nan", "inf", "Cannot answer", "٣", "１２", "²", "12.", "1.2.3", "0x10", "12\n13",
    ],
)  # fmt: skip
def test_what_is_no_number(text: str) -> None:
    assert parse_number(text) is None


@given(st.integers(-(10**20), 10**20), st.integers(0, 6), st.booleans(), st.booleans())
def test_forms_of_a_number_have_its_value(digits: int, places: int, grouped: bool, percent: bool) -> None:
    whole, rest = divmod(abs(digits), 10**places)
    text = ("-" if digits < 0 else "") + (f"{whole:,}" if grouped else str(whole))
    text += (f".{rest:0{places}}" if places else "") + ("%" if percent else "")
    value = parse_number(text)
    assert value is not None
    assert Fraction(value) == Fraction(digits, 10**places)


@given(st.text(st.sampled_from("0123456789,.%+-e") | st.characters(), max_size=12))
def test_a_number_is_what_python_reads_without_commas(text: str) -> None:
    value = parse_number(text)
    if value is not None:
        plain = text.strip().replace(",", "").removesuffix("%").replace("\u2212", "-")
        assert value == Decimal(plain)
        assert plain.isascii()


@pytest.mark.parametrize(
    ("text", "values"),
    [
        # Thousands, decimals, ends of sentences and lists.
        ("It has 1,234,567 people.", ["1234567"]),
        ("1,234.50 and 3.5.", ["1234.5", "3.5"]),
        ("In 1,2 and 3 of 12,3456", ["1", "2", "3", "12", "3456"]),
        ("12,345,67", ["12", "345", "67"]),
        ("in 1990, 50 people", ["1990", "50"]),
        ("weighs .5 kg, not ..5", ["0.5", "5"]),
        (".5", ["0.5"]),
        ("No.5", ["5"]),
        ("a grade of .5,6", ["5", "6"]),
        # Signs.
        ("-5 and (-6) and $-7 and −8 and +9", ["-5", "-6", "-7", "-8", "9"]),
        ("fell to -.25", ["-0.25"]),
        ("a - 5", ["5"]),
        # Ranges, dates, fractions, times, ratios.
        ("50–59, 50-59, 50 - 59", ["50", "59", "50", "59", "50", "59"]),
        ("2024-05-03", ["2024", "5", "3"]),
        ("3/4 at 10:30", ["3", "4", "10", "30"]),
        ("a 2-1 win", ["2", "1"]),
        # Per cent, years, decades, ordinals, units.
        ("12% of 12 %", ["12", "12"]),
        ("in 1987, the 1990s, mid-1990s and pre-1914", ["1987", "1990", "1990", "1914"]),
        ("the 12th and 3rd, 5km, 20-year, 3D", ["12", "3", "5", "20", "3"]),
        ("€5 #6 ~7 <8", ["5", "6", "7", "8"]),
        ("2024年に10人", ["2024", "10"]),
        ("在2024年", ["2024"]),
        # Parts of names, codes, versions, other digits.
        ("B12, H2O, COVID-19, F-16, AB-12-34, x_3, v1.2.3", []),
        ("version 1.2.3 at 192.168.0.1", []),
        ("hash 3f2a9, 4x100, 12a_3, 1e6", []),
        ("Boeing 747, Apollo 11", ["747", "11"]),
        ("omega-3", ["3"]),
        ("٣ and ² and ½", []),
        ("", []),
    ],
)
def test_numbers_of_a_text(text: str, values: list[str]) -> None:
    assert [number.value for number in find_numbers(text)] == [Decimal(value) for value in values]


def test_offsets_are_those_of_the_text() -> None:
    text = "From -5 to 1,234.5km, .5 (−2%)"
    assert [text[number.start : number.end] for number in find_numbers(text)] == ["-5", "1,234.5", ".5", "−2"]


@given(st.lists(st.decimals(-(10**9), 10**9, places=2), max_size=8))
def test_numbers_between_words_are_found(values: list[Decimal]) -> None:
    assert [number.value for number in find_numbers(" and ".join(f"{value:,}" for value in values))] == values


@given(st.text(st.sampled_from("019.,-−+/% aZ_k²") | st.characters(), max_size=40))
def test_numbers_are_in_order_and_are_read_from_their_place(text: str) -> None:
    end = 0
    for number in find_numbers(text):
        assert end <= number.start < number.end <= len(text)
        end = number.end
        shown = text[number.start : number.end].replace(",", "").replace("−", "-")
        assert Decimal(shown) == number.value


def test_unsupported_numbers() -> None:
    evidence = ["It has 12,345 people.", "Founded in 1987; 3.50 km; 7%."]
    assert unsupported("12345 people since 1987, 3.5 km and 7 of 100", []) != []
    assert [n.value for n in unsupported("12345 people since 1987, 3.5 km, 7, -7 and 1988", evidence)] == [-7, 1988]
    assert unsupported("No number, B12 besides.", evidence) == []


@pytest.mark.parametrize(
    "unit", ["1", "1,", "1.", "-1", "a1", "A-1", "1-", "1,234", "-", ".", "1 ", "a", "A", "_", "1a", "AAAA-1/", "\n"]
)
def test_a_long_text_takes_linear_time(unit: str) -> None:
    text = unit * (250_000 // len(unit))
    start = time.process_time()
    find_numbers(text)
    parse_number(text)
    assert time.process_time() - start < 20

"""Strings that look personal, and strings that only nearly do."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithline.noise.text.faults import Fault
from faithline.noise.text.personal import _PATTERNS, KINDS, _plausible, luhn, personal


def kinds(text: str) -> set[str]:
    bits = int(personal(pa.array([text]))[0][0])
    return {fault.name for fault in Fault if bits >> fault & 1}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("write to jane.doe+x@mail.example.co.uk.", {"EMAIL"}),
        ("meet me @ home, @handle, a@b", set()),
        ("call (555) 123-4567 now", {"PHONE"}),
        ("call 1-555-123-4567.", {"PHONE"}),
        ("call 555.123.4567", {"PHONE"}),
        ("call +44 20 7946 0958", {"PHONE"}),
        ("call +49 (30) 901820", {"PHONE"}),
        ("call +442079460958", {"PHONE"}),
        ("from 1939–1945, 1,234,567 people, 2017-04-29, ISBN 0-306-40615-2", set()),
        ("between 1914-1918 and 1939-1945", set()),
        ("card 4111 1111 1111 1111", {"CARD"}),
        ("card 5500-0000-0000-0004", {"CARD"}),
        ("card 378282246310005", {"CARD"}),
        ("card 4111 1111 1111 1112", set()),
        ("0000000000000000 and 7004280100000000000", set()),
        ("ssn 219-09-9999", {"SOCIAL_SECURITY"}),
        ("ssn 000-09-9999, 666-09-9999, 900-09-9999, 219-00-9999, 219-09-0000", set()),
        ("host 192.168.0.1:80", {"IP_ADDRESS"}),
        ("host 256.168.0.1, 1.2.3, 1.2.3.4.5", set()),
    ],
)
def test_examples(text: str, expected: set[str]) -> None:
    assert kinds(text) == expected


def test_strings_are_counted_and_texts_flagged() -> None:
    faults, strings = personal(pa.array(["a@b.de and c@d.de", "nothing", "10.0.0.1"]))
    assert strings == {Fault.EMAIL: 2, Fault.IP_ADDRESS: 1}
    assert (faults > 0).tolist() == [True, False, True]


@given(st.text("0123456789", min_size=12, max_size=18))
def test_exactly_one_check_digit_is_right(digits: str) -> None:
    assert sum(luhn(digits + last) for last in "0123456789") == 1


@pytest.mark.parametrize(
    ("number", "valid"), [("79927398713", True), ("79927398710", False), ("4242424242424242", True)]
)
def test_luhn_on_published_numbers(number: str, valid: bool) -> None:
    assert luhn(number) is valid


local = st.text("abcXYZ019._%+-", min_size=1, max_size=10)
label = st.text("abcXYZ019", min_size=1, max_size=8)


@given(local, st.lists(label, min_size=1, max_size=3), st.text("abcxyz", min_size=2, max_size=6))
def test_no_address_is_lost_to_the_first_sieve(name: str, labels: list[str], top: str) -> None:
    assert "EMAIL" in kinds(f"see <{name}@{'.'.join(labels)}.{top}>")


@given(st.tuples(*[st.integers(0, 255)] * 4))
def test_no_ip_address_is_lost(octets: tuple[int, ...]) -> None:
    assert "IP_ADDRESS" in kinds(f"at {'.'.join(map(str, octets))}, says the log")


@given(st.integers(100, 665), st.integers(1, 99), st.integers(1, 9999))
def test_no_social_security_number_is_lost(area: int, group: int, serial: int) -> None:
    assert "SOCIAL_SECURITY" in kinds(f"no. {area}-{group:02}-{serial:04}.")


@given(st.lists(st.text("0123456789+-. ()@ax", max_size=25), max_size=6))
def test_sieves_lose_nothing_that_the_patterns_find(texts: list[str]) -> None:
    faults, _ = personal(pa.array(texts, pa.string()))
    for text, bits in zip(texts, faults.tolist(), strict=True):
        for kind in KINDS:
            assert bool(bits >> kind & 1) == any(
                _plausible(kind, found.group()) for found in _PATTERNS[kind].finditer(text)
            )

"""Drift: the index against values worked out by hand, chance against another library, reasons, acceptance."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithline.gates.drift import Drift, chance_psi, compare, psi
from faithline.gates.limits import Gates
from faithline.gates.profile import Declared, measure
from faithline.gates.snapshot import Snapshot, read_snapshot, take_snapshot, write_snapshot
from faithline.pipeline.errors import DataInvalid, ExitCode

Rows = dict[str, list[dict[str, Any]]]
Take = Callable[[Rows], Snapshot]
FLOOR = 0.0001
COUNTS = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 1000), min_size=1)


@pytest.fixture
def take(tmp_path: Path, write_to: Callable[..., Path], declared: Declared) -> Take:
    return lambda tables: take_snapshot(measure(write_to(tmp_path / "prepared", tables), declared, 16).sets, 16)


@pytest.fixture
def limits(settings: Callable[..., Gates]) -> Any:
    return settings().drift


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        # (0.6 - 0.5) ln(0.6 / 0.5) + (0.4 - 0.5) ln(0.4 / 0.5) = 0.1 * 0.1823216 + 0.1 * 0.2231436
        ({"a": 50, "b": 50}, {"a": 60, "b": 40}, 0.04054651),
        # counts of another size, same shares
        ({"a": 50, "b": 50}, {"a": 7, "b": 7}, 0.0),
        # (0.25 - 0.5) ln 0.5 twice over the first two, (0.5 - 0) against the floor: 0.4999 ln 5000
        ({"a": 1, "b": 1}, {"a": 1, "b": 1, "c": 2}, 2 * 0.25 * math.log(2) + 0.4999 * math.log(5000)),
        # a category of 1 % that vanished: 0.0099 ln 100, and 0.01 ln(1 / 0.99)
        ({"a": 99, "b": 1}, {"a": 100}, 0.0099 * math.log(100) + 0.01 * math.log(1 / 0.99)),
        ({}, {"a": 1}, 0.0),
        ({"a": 0}, {"a": 0}, 0.0),
    ],
)
def test_psi_by_hand(before: dict[str, int], now: dict[str, int], expected: float) -> None:
    assert psi(before, now, FLOOR) == pytest.approx(expected, abs=1e-8)


@given(COUNTS, COUNTS, st.integers(1, 9))
def test_psi_is_a_symmetric_distance_of_shares(p: dict[str, int], q: dict[str, int], factor: int) -> None:
    distance = psi(p, q, FLOOR)
    assert distance >= 0
    assert psi(q, p, FLOOR) == pytest.approx(distance)
    assert psi({key: factor * count for key, count in p.items()}, q, FLOOR) == pytest.approx(distance)
    assert psi(p, p, FLOOR) == 0


@pytest.mark.parametrize("categories", [2, 3, 8, 30, 65])
@pytest.mark.parametrize("significance", [0.05, 0.001])
def test_chance_is_the_quantile_of_chi_squared(categories: int, significance: float) -> None:
    from scipy.stats import chi2

    counts = {str(number): 100 for number in range(categories)}
    total = 100 * categories
    exact = chi2.ppf(1 - significance, categories - 1) * (1 / total + 1 / (2 * total))
    doubled = dict.fromkeys(counts, 200)
    assert chance_psi(counts, doubled, significance) == pytest.approx(exact, rel=0.04)


def test_samples_of_one_population_do_not_drift() -> None:
    # 40 rows in 12 categories: the bare index passes 0.25 by chance alone in most draws.
    generator = np.random.default_rng(7)
    alarms = bare = 0
    for _ in range(300):
        p, q = ({str(k): int(c) for k, c in enumerate(generator.multinomial(200, [1 / 12] * 12))} for _ in range(2))
        r = {str(k): int(c) for k, c in enumerate(generator.multinomial(40, [1 / 12] * 12))}
        alarms += psi(p, q, FLOOR) > chance_psi(p, q, 0.001)
        bare += psi(p, r, FLOOR) > 0.25
    assert alarms <= 3
    assert bare > 150


def test_nothing_accepted_yet_is_changed_not_drifted(tables: Rows, take: Take, limits: Any) -> None:
    found = compare(Snapshot(vocabulary_buckets=16, sets={}), take(tables), limits)
    assert found == Drift(changed=True, drifted=False, reasons=("no snapshot was accepted yet",), psi={})


def test_the_same_rows_in_another_order_are_unchanged(tables: Rows, take: Take, limits: Any) -> None:
    accepted = take(tables)
    for seed, rows in enumerate(tables.values()):
        random.Random(seed).shuffle(rows)
    assert take(tables) == accepted
    assert compare(accepted, take(tables), limits) == Drift(changed=False, drifted=False, reasons=(), psi={})


def test_one_other_answer_is_a_change_and_no_drift(tables: Rows, take: Take, limits: Any) -> None:
    accepted = take(tables)
    tables["questions"][0]["answers"] = ["the river"]
    found = compare(accepted, take(tables), limits)
    assert (found.changed, found.drifted) == (True, False)
    assert found.reasons == ("set hop: other rows in questions",)
    assert set(found.psi) == {"hop"}


def more(tables: Rows, factor: int) -> None:
    """Every question `factor` times, so that differences are beyond chance."""
    tables["questions"] = [
        row | {"question_id": f"{row['question_id']}-{number}"}
        for row in tables["questions"]
        for number in range(factor)
    ]


def test_other_types_and_flags_drift_by_name(tables: Rows, take: Take, limits: Any) -> None:
    more(tables, 20)
    accepted = take(tables)
    for row in tables["questions"][:100]:
        row["question_type"] = "comparison"
        row["supporting"] = [True, True, True, True]
    found = compare(accepted, take(tables), limits)
    assert found.drifted
    # Half of the rows have a type that was not there: (0.5 - 0.0001) ln 5000 + 0.5 ln 2.
    assert found.psi["hop"]["questions.question_type: values"] == pytest.approx(4.6044, abs=1e-4)
    # Relevant documents: 25 % before, 62.5 % now; 0.375 ln(0.625 / 0.25) + 0.375 ln(0.75 / 0.375).
    assert found.psi["hop"]["questions.supporting: values"] == pytest.approx(0.603539, abs=1e-6)
    assert found.reasons == (
        "set hop: questions.question_type: values: PSI 4.604, limit 0.25",
        "set hop: questions.supporting: values: PSI 0.604, limit 0.25",
        "set hop: other rows in questions",
    )


def test_longer_questions_and_other_words_drift(tables: Rows, take: Take, limits: Any) -> None:
    more(tables, 20)
    accepted = take(tables)
    for row in tables["questions"]:
        row["question"] = "Which of all the rivers that were ever mapped flows past the old town hall today?"
    reasons = compare(accepted, take(tables), limits).reasons
    assert any(reason.startswith("set hop: questions.question: characters: PSI") for reason in reasons)
    assert any(reason.startswith("set hop: questions.question: words: PSI") for reason in reasons)


def test_lost_rows_drift(tables: Rows, take: Take, limits: Any) -> None:
    accepted = take(tables)
    tables["questions"] = tables["questions"][:4]
    found = compare(accepted, take(tables), limits)
    assert found.drifted
    assert "set hop: questions: 4 rows after 10, ratio 0.4, limit 0.5 to 4" in found.reasons


def test_a_set_that_is_gone_drifts_and_a_new_one_is_a_change(tables: Rows, take: Take, limits: Any) -> None:
    whole = take(tables)
    part = Snapshot(vocabulary_buckets=16, sets={name: whole.sets[name] for name in whole.sets if name != "truth"})
    assert compare(whole, part, limits) == Drift(changed=True, drifted=True, reasons=("set truth: gone",), psi={})
    assert compare(part, whole, limits) == Drift(changed=True, drifted=False, reasons=("set truth: new",), psi={})


def test_words_of_other_buckets_are_not_compared(tables: Rows, take: Take, limits: Any) -> None:
    accepted = take(tables)
    more(tables, 2)
    other = Snapshot(vocabulary_buckets=8, sets=accepted.sets)
    assert "questions.question: words" in compare(accepted, take(tables), limits).psi["hop"]
    assert "questions.question: words" not in compare(other, take(tables), limits).psi["hop"]


def test_drift_fails_or_warns(settings: Callable[..., Gates]) -> None:
    drift = Drift(changed=True, drifted=True, reasons=("set hop: gone",), psi={})
    drift.require_accepted(settings(drift={"action": "warn"}).drift, where="", next_step="")
    with pytest.raises(DataInvalid, match="set hop: gone") as error:
        drift.require_accepted(settings().drift, where="", next_step="run `faithline data accept`")
    assert error.value.exit_code == ExitCode.DATA_INVALID
    Drift(changed=True, drifted=False, reasons=(), psi={}).require_accepted(settings().drift, where="", next_step="")


def test_a_snapshot_survives_its_file(tables: Rows, take: Take, tmp_path: Path) -> None:
    path = tmp_path / "snapshot.json"
    snapshot = take(tables)
    write_snapshot(path, snapshot)
    first = path.read_bytes()
    assert read_snapshot(path) == snapshot
    write_snapshot(path, read_snapshot(path))
    assert path.read_bytes() == first
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["snapshot.json"]


@pytest.mark.parametrize("content", [None, b"{", b'{"sets": {}}', b'{"vocabulary_buckets": 16, "sets": [], "x": 1}'])
def test_a_missing_or_broken_snapshot_is_an_error(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "snapshot.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataInvalid) as error:
        read_snapshot(path)
    assert str(path) in str(error.value)

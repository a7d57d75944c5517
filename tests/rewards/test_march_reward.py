"""MARCH's reward: votes, outcomes, terms; values by hand, bounds and symmetries by property."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithline.agents.march import checker, proposer
from faithline.agents.march.blinding import Pair
from faithline.agents.march.checker import Check
from faithline.agents.march.outcome import Outcome
from faithline.pipeline.errors import ConfigError
from faithline.rewards.march import (
    Judged,
    Verdict,
    checker_reward,
    err,
    err_count,
    judge,
    outcome_reward,
    solver_reward,
    ztr,
)

if TYPE_CHECKING:
    from conftest import Make


def verdict(matches: str) -> Verdict:
    """One pair per letter: + matches, - does not."""
    return Verdict(tuple(Judged(f"Q{i}?", "5", ("5",), letter == "+") for i, letter in enumerate(matches)))


def checks(*columns: str) -> list[Check]:
    """The Checker's samples: one text per sample, one letter per question (+ right, - wrong, . missing)."""
    known = {"+": "5", "-": "6", ".": None}
    return [Check(Outcome.OK, tuple(known[letter] for letter in column), 0, 0) for column in columns]


@pytest.mark.parametrize(
    ("samples", "matches"),
    [
        (["+"], "+"),
        (["-"], "-"),
        (["."], "-"),
        (["+-", "+-", "-+"], "+-"),
        (["+.", "+.", ".+"], "+-"),
        (["-+", ".+", "+-"], "-+"),
        (["++", "++", "++"], "++"),
        (["..", "..", ".."], "--"),
    ],
)
def test_votes_by_hand(samples: list[str], matches: str) -> None:
    pairs = [Pair(f"Q{i}?", "5.0") for i in range(len(matches))]
    judged = judge(pairs, checks(*samples), "canonical")
    assert ["+" if pair.match else "-" for pair in judged.pairs] == list(matches)
    assert judged.faults == matches.count("-")


def test_votes_are_the_majority_and_symmetric() -> None:
    for column in itertools.product("+-.", repeat=3):
        results = {
            judge([Pair("Q?", "5")], checks(*order), "canonical").pairs[0].match
            for order in itertools.permutations(column)
        }
        assert results == {column.count("+") >= 2}


def test_votes_that_could_tie_are_refused() -> None:
    for samples in ([], ["+", "-"]):
        with pytest.raises(ValueError, match="odd number"):
            judge([Pair("Q?", "5")], checks(*samples), "canonical")
    assert judge([], [], "canonical").pairs == ()


def test_samples_for_other_questions_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        judge([Pair("Q?", "5")], checks("++"), "canonical")


def test_cannot_answer_never_matches_but_in_the_release() -> None:
    check = [Check(Outcome.OK, ("Cannot answer",), 0, 0)]
    assert not judge([Pair("Q?", "5")], check, "canonical").pairs[0].match
    assert not judge([Pair("Q?", "Cannot answer")], check, "canonical").pairs[0].match
    assert judge([Pair("Q?", "Cannot answer")], check, "release").pairs[0].match


@pytest.mark.parametrize(
    ("matches", "ztr_minus", "ztr_plus", "err_paper", "err_release"),
    [
        ("+", 0.0, 1.0, 0.0, 0.0),
        ("-", -1.0, 0.0, -1.0, -0.1),
        ("+++-", -1.0, 0.0, -0.25, -0.1),
        ("+--", -1.0, 0.0, -2 / 3, -0.2),
        ("-" * 13, -1.0, 0.0, -1.0, -1.3),
        ("-" * 14 + "+" * 6, -1.0, 0.0, -0.7, -1.3),
        ("", 0.0, 0.0, 0.0, 0.0),
    ],
)
def test_outcomes_by_hand(
    make: Make, matches: str, ztr_minus: float, ztr_plus: float, err_paper: float, err_release: float
) -> None:
    judged = verdict(matches)
    assert outcome_reward(judged, make()) == ztr_minus
    assert outcome_reward(judged, make(scale="zero_one")) == ztr_plus
    assert outcome_reward(judged, make(outcome="err")) == pytest.approx(err_paper, abs=1e-12)
    assert outcome_reward(judged, make(outcome="err_count")) == pytest.approx(err_release, abs=1e-12)


def test_no_negative_zero(make: Make) -> None:
    for outcome in ("ztr", "err", "err_count"):
        assert str(outcome_reward(verdict("+"), make(outcome=outcome))) == "0.0"


@pytest.mark.parametrize("empty_reward", [-1.0, -0.5, 0.0])
def test_the_empty_rule(make: Make, empty_reward: float) -> None:
    for outcome in ("ztr", "err", "err_count"):
        assert outcome_reward(verdict(""), make(outcome=outcome, empty_reward=empty_reward)) == empty_reward
    assert outcome_reward(verdict(""), make(scale="zero_one", empty_reward=1.0)) == 1.0
    # The forms that are computed beside a 0/1 reward keep their own maximum.
    assert err(verdict(""), make(scale="zero_one", empty_reward=1.0)) == 0.0


def test_too_few_pairs(make: Make) -> None:
    scored = make(min_pairs=3, empty_reward=-0.4)
    capped = make(min_pairs=3, empty_reward=-0.4, below_min="cap")
    rewards = {
        matches: (ztr(verdict(matches), scored), ztr(verdict(matches), capped)) for matches in ("++", "+-", "+++")
    }
    assert rewards == {"++": (0.0, -0.4), "+-": (-1.0, -1.0), "+++": (0.0, 0.0)}
    assert err(verdict("+-"), capped) == -0.5
    assert err_count(verdict("+-"), capped) == -0.4


def test_terms(make: Make) -> None:
    settings = make(reward_model=0.5, solver_format=-0.25, checker_format=-0.125)
    good, bad = verdict("+"), verdict("-")
    assert solver_reward(good, settings, Outcome.OK, 3.0) == 1.5
    assert solver_reward(bad, settings, Outcome.MALFORMED, 3.0) == 0.25
    assert solver_reward(verdict(""), settings, Outcome.EMPTY, -1.0) == -0.75
    assert checker_reward(good, settings, Outcome.OK) == 0.0
    assert checker_reward(bad, settings, Outcome.COUNT_MISMATCH) == -1.125
    with pytest.raises(ValueError, match="no reward model's score"):
        solver_reward(good, settings, Outcome.OK, None)


def test_terms_are_off_in_plain_march(make: Make) -> None:
    settings = make()
    for matches in ("+", "-", ""):
        for outcome in Outcome:
            expected = outcome_reward(verdict(matches), settings)
            assert solver_reward(verdict(matches), settings, outcome, None) == expected
            assert checker_reward(verdict(matches), settings, outcome) == expected


SETTINGS = st.fixed_dictionaries(
    {
        "outcome": st.sampled_from(["ztr", "err", "err_count"]),
        "empty_reward": st.sampled_from([-1.0, -0.5, 0.0]),
        "below_min": st.sampled_from(["score", "cap"]),
        "min_pairs": st.integers(1, 4),
        "comparator": st.sampled_from(["canonical", "release"]),
        "parser": st.sampled_from(["strict", "release"]),
    }
)
ANSWERS = st.sampled_from(["5", "5.0", "6", "5.05", "Paris", "Cannot answer", "10k", ""])


@given(
    changed=SETTINGS,
    proposed=st.lists(ANSWERS, max_size=5),
    answered=st.lists(st.lists(ANSWERS, max_size=6), min_size=3, max_size=3),
    noise=st.sampled_from(["", "\n", "] [Answer: ", "3. Evidence: x [Answer: 5]", "- Question: "]),
)
def test_rewards_are_bounded_and_garbage_is_never_better_than_good(
    make: Make, changed: dict[str, Any], proposed: list[str], answered: list[list[str]], noise: str
) -> None:
    settings = make(**changed)
    text = "\n".join(f"- Question: Q? [Answer: {answer}]" for answer in proposed) + noise
    proposal = proposer.parse(text, settings.parser, settings.max_pairs)
    samples = [
        "\n".join(f"{number}. Evidence: E [Answer: {answer}]" for number, answer in enumerate(column, 1)) + noise
        for column in answered
    ]
    parsed = [checker.parse(sample, len(proposal.pairs), settings.parser) for sample in samples]
    reward = outcome_reward(judge(proposal.pairs, parsed, settings.comparator), settings)
    assert settings.worst <= reward <= settings.best
    if not proposal.pairs:
        assert reward == settings.empty_reward
    if proposal.pairs and not any(check.outcome in (Outcome.OK, Outcome.COUNT_MISMATCH) for check in parsed):
        assert reward <= min(settings.best, -0.1)


@given(SETTINGS, st.text("+-", min_size=1, max_size=8), st.data())
def test_one_more_fault_never_pays(make: Make, changed: dict[str, Any], matches: str, data: st.DataObject) -> None:
    settings = make(**changed)
    at = data.draw(st.integers(0, len(matches) - 1))
    worse = f"{matches[:at]}-{matches[at + 1 :]}"
    assert outcome_reward(verdict(worse), settings) <= outcome_reward(verdict(matches), settings)


@given(SETTINGS, st.text("+-", max_size=6))
def test_capped_silence_is_never_beaten_by_saying_little(make: Make, changed: dict[str, Any], matches: str) -> None:
    settings = make(**{**changed, "below_min": "cap"})
    if len(matches) < settings.min_pairs:
        assert outcome_reward(verdict(matches), settings) <= settings.empty_reward


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"scale": "zero_one", "outcome": "err"}, "zero_one is defined for outcome ztr only"),
        ({"min_pairs": 11}, "min_pairs exceeds max_pairs"),
        ({"empty_reward": 0.5}, "empty_reward must lie between"),
        ({"empty_reward": -1.1}, "empty_reward must lie between"),
        ({"empty_reward": -0.1, "scale": "zero_one"}, "empty_reward must lie between"),
        ({"empty_reward": float("nan")}, "empty_reward must lie between"),
        ({"checker_votes": 2}, "checker_votes"),
        ({"comparator": "exact"}, "comparator"),
        ({"solver_format": 0.1}, "solver_format"),
        ({"reward_model": -1.0}, "reward_model"),
        ({"margin": 0.0}, "margin"),
        ({"min_pairs": "3"}, "min_pairs"),
        ({"empty_rewards": 0.0}, "did you mean `empty_reward`"),
    ],
)
def test_bad_settings(make: Make, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        make(**changed)
    assert message in str(error.value)


def test_err_count_may_be_lower_than_minus_one(make: Make) -> None:
    assert make(outcome="err_count", empty_reward=-1.3).worst == -1.3

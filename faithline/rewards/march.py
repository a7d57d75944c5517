"""MARCH's reward: one sample's parsed texts to a verdict, a verdict to numbers.

A question matches when the votes of the Checker's samples, +1 where the answer equals the proposed number and -1 where
it does not or is missing, do not sum below zero (their number is odd, so there is no tie). The outcome is computed from
the matches: ztr, err or err_count. The Solver gets it plus its terms; the Checker gets the same outcome plus its own.

Free reward that the scheme has by design, to be known and not mended in silence: a response without numbers gets
`empty_reward`, which under -1/0 is the maximum unless it is set lower; copied documents get the maximum, for they
are faithful; only numbers are audited. `faithline.rewards.canaries` reports each before training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from faithline.agents.march.blinding import Pair
from faithline.agents.march.checker import Check
from faithline.agents.march.outcome import Outcome
from faithline.rewards.comparator import Comparator, matcher
from faithline.rewards.settings import MarchReward

__all__ = ["Judged", "Verdict", "checker_reward", "err", "err_count", "judge", "outcome_reward", "solver_reward", "ztr"]

_PER_FAULT, _MOST_FAULTS = 0.1, 13
"""Of the release's err_count."""


@dataclass(frozen=True)
class Judged:
    """One pair after the Checker."""

    question: str
    proposed: str
    answered: tuple[str | None, ...]
    """Per sample of the Checker the answer as written, None where it gave none."""
    match: bool


@dataclass(frozen=True)
class Verdict:
    """One sample after the Checker."""

    pairs: tuple[Judged, ...]

    @property
    def faults(self) -> int:
        """Questions on which the Checker contradicts."""
        return sum(not pair.match for pair in self.pairs)


def judge(pairs: Sequence[Pair], checks: Sequence[Check], comparator: Comparator) -> Verdict:
    """Compare the proposed answers with the Checker's.

    Args:
        pairs: From the Proposer.
        checks: The Checker's samples for these pairs, an odd number; needless when there are no pairs.
        comparator: When two answers are the same.

    Raises:
        ValueError: If the votes could tie, or the samples are for another number of questions.
    """
    if pairs and len(checks) % 2 == 0:
        raise ValueError(f"{len(checks)} samples of the Checker: an odd number decides")
    columns = zip(*(check.answers for check in checks), strict=True) if pairs else ()
    return Verdict(tuple(_judged(pair, answers, comparator) for pair, answers in zip(pairs, columns, strict=True)))


def _judged(pair: Pair, answers: tuple[str | None, ...], comparator: Comparator) -> Judged:
    same = matcher(pair.answer, comparator)
    votes = sum(1 if answer is not None and same(answer) else -1 for answer in answers)
    return Judged(pair.question, pair.answer, answers, match=votes >= 0)


def ztr(verdict: Verdict, settings: MarchReward) -> float:
    """The zero-tolerance reward: the best if no question is at fault, else the worst."""
    best = 1.0 if settings.scale == "zero_one" else 0.0
    return _with_rules(best - 1.0 if verdict.faults else best, verdict, settings, best)


def err(verdict: Verdict, settings: MarchReward) -> float:
    """The paper's error-rate reward: minus the share of questions at fault."""
    return _with_rules(-verdict.faults / max(len(verdict.pairs), 1) or 0.0, verdict, settings, 0.0)


def err_count(verdict: Verdict, settings: MarchReward) -> float:
    """The release's error-rate reward: minus a tenth per question at fault, down to -1.3."""
    return _with_rules(-_PER_FAULT * min(verdict.faults, _MOST_FAULTS) or 0.0, verdict, settings, 0.0)


def outcome_reward(verdict: Verdict, settings: MarchReward) -> float:
    """The reward of `settings.outcome`, before terms."""
    return {"ztr": ztr, "err": err, "err_count": err_count}[settings.outcome](verdict, settings)


def solver_reward(verdict: Verdict, settings: MarchReward, response: Outcome, model_score: float | None) -> float:
    """The Solver's reward.

    Args:
        verdict: Of its response.
        settings: The reward's settings.
        response: What its text parsed to.
        model_score: The reward model's score of the response; None if there is no reward model.

    Raises:
        ValueError: If the settings weigh a reward model and there is no score.
    """
    terms = settings.terms
    if terms.reward_model and model_score is None:
        raise ValueError("terms.reward_model is set, but the response has no reward model's score")
    scored = terms.reward_model * model_score if terms.reward_model and model_score is not None else 0.0
    return outcome_reward(verdict, settings) + scored + (0.0 if response is Outcome.OK else terms.solver_format)


def checker_reward(verdict: Verdict, settings: MarchReward, check: Outcome) -> float:
    """The reward of one of the Checker's samples: the response's outcome, so that both roles win or lose together.

    Args:
        verdict: Of the response that was checked.
        settings: The reward's settings.
        check: What this sample's text parsed to.
    """
    return outcome_reward(verdict, settings) + (0.0 if check is Outcome.OK else settings.terms.checker_format)


def _with_rules(reward: float, verdict: Verdict, settings: MarchReward, best: float) -> float:
    """Apply what is not about faults: no pairs, and fewer pairs than asked for.

    `best` bounds the reward of silence where a form is computed beside the one that the settings are for.
    """
    silent = min(settings.empty_reward, best)
    if not verdict.pairs:
        return silent
    if settings.below_min == "cap" and len(verdict.pairs) < settings.min_pairs:
        return min(reward, silent)
    return reward

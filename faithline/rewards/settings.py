"""Settings of MARCH's reward; values come from params.yaml only (section `march`, key `reward`).

Every point where the paper, its released code and Faithline differ is a setting here, so a run's record says which
one it used.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from faithline.agents.march.proposer import Parser
from faithline.rewards.comparator import Comparator

__all__ = ["Canaries", "MarchReward", "Terms"]

Count = Annotated[int, msgspec.Meta(ge=1)]
Penalty = Annotated[float, msgspec.Meta(le=0.0)]


class Terms(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is added to the outcome; 0 = off. MARCH alone has none of them."""

    reward_model: Annotated[float, msgspec.Meta(ge=0.0)]
    """Weight of a reward model's score of the response; 1.0 is the paper's row RLHF + MARCH (and the release)."""
    solver_format: Penalty
    """Added to the Solver's reward when its response is empty or its reasoning tags are broken."""
    checker_format: Penalty
    """Added to the Checker's reward when its text does not give exactly one answer per question."""


class Canaries(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The check for free reward before training."""

    items: Count
    """Training questions with a numeric answer to try; each costs eight responses' worth of Proposer and Checker."""
    margin: Annotated[float, msgspec.Meta(gt=0.0, le=1.0)]
    """Mean reward by which a faithful response must beat one that is not, on the scale of the outcome."""
    rollout: Literal["refuse", "warn", "skip"]
    """Beside perfect roles, which always decide, let the Proposer and Checker as they are before training judge.
    refuse: free reward ends the run; warn: it is reported, for a small model's roles are weak judges; skip: not run."""


class MarchReward(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Key `march.reward`."""

    comparator: Comparator
    """When two answers are the same number. canonical: equal Decimals. release: less than 0.1 apart (0.05 = 0.09)."""
    parser: Parser
    """strict: pairs whose answer is no number are left out, of repeated items the first counts. release: all pairs are
    kept, the last repeated item counts, no maximum of pairs."""
    proposer_sees_query: bool
    """Show the query to the Proposer beside the response, as the release does; the paper shows the response only."""
    min_pairs: Annotated[int, msgspec.Meta(ge=1)]
    """Questions that the Proposer is told to ask at least (paper: k = 3)."""
    max_pairs: Annotated[int, msgspec.Meta(ge=1)]
    """Questions that it is told to ask at most, and pairs that count (release: 10, told only)."""
    below_min: Literal["score", "cap"]
    """What fewer than `min_pairs` pairs are worth. score: nothing special (paper, release). cap: at most
    `empty_reward`, so saying less than the minimum never pays more than saying nothing."""
    checker_votes: Literal[1, 3]
    """Samples of the Checker per response; a question is at fault if most of them contradict (release: 3)."""
    outcome: Literal["ztr", "err", "err_count"]
    """ztr: all or nothing (paper, equation 7). err: minus the share of faults (paper). err_count: -0.1 per fault, down
    to -1.3 (release)."""
    scale: Literal["minus_one_zero", "zero_one"]
    """Of ztr: -1 or 0 (paper, release), or 0 or 1 (paper, section 3.4)."""
    empty_reward: float
    """What a response without any usable pair is worth (release: 0, which is the maximum under minus_one_zero)."""
    terms: Terms
    canaries: Canaries

    def __post_init__(self) -> None:
        """Refuse combinations that mean nothing or pay for silence."""
        if self.scale == "zero_one" and self.outcome != "ztr":
            raise ValueError("scale zero_one is defined for outcome ztr only")
        if self.min_pairs > self.max_pairs:
            raise ValueError("min_pairs exceeds max_pairs")
        if not self.worst <= self.empty_reward <= self.best:
            raise ValueError(f"empty_reward must lie between the outcome's {self.worst} and {self.best}")

    @property
    def best(self) -> float:
        """Reward of a response without a fault, before terms."""
        return 1.0 if self.scale == "zero_one" else 0.0

    @property
    def worst(self) -> float:
        """The lowest reward, before terms."""
        if self.outcome == "err_count":
            return -1.3
        return 0.0 if self.scale == "zero_one" else -1.0

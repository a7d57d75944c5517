"""Settings of train_march; every value comes from params.yaml."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from faithline.march.settings import NewTokens
from faithline.rewards.settings import MarchReward
from faithline.rl.settings import Ppo

__all__ = ["Data", "March", "Params"]

Count = Annotated[int, msgspec.Meta(ge=1)]


class Data(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which questions of data/training/march are trained on and chosen by."""

    domains: Annotated[list[Literal["stem", "general"]], msgspec.Meta(min_length=1)]
    """Each has a table of its own."""
    questions: Literal["all", "numeric"]
    """numeric: only those whose words ask for a number (how many, when, year, length ...). Only numbers are audited, so
    others teach little; the paper trains on all, the release's reward passes over those that ask for no number."""
    train: Count | None
    """Most training questions per domain, those drawn first by compose_training; null = all."""
    validation: Count | None
    """Most held-out questions per domain; they choose the step to keep."""


class March(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Section `march`."""

    data: Data
    reward: MarchReward
    init: Literal["warm_start", "instruct"]
    """What training starts with: the warm start's adapter `march`, or a fresh one on the backbone."""
    max_new_tokens: NewTokens
    greedy_roles: list[Literal["proposer", "checker"]]
    """Judges that take their likeliest tokens instead of sampling: less noise in the reward. Only roles that are not
    trained; the paper and the release have none."""
    ppo: Ppo
    tensorboard: bool
    """Write event files to logs/train_march/tensorboard as well."""

    def __post_init__(self) -> None:
        """Refuse what MARCH does not have."""
        if self.ppo.adapters != "shared":
            raise ValueError("MARCH is one policy for all roles: ppo.adapters must be shared")
        if self.reward.terms.reward_model:
            raise ValueError("reward.terms.reward_model needs a reward model, and this stage has none")
        trained = sorted(set(self.greedy_roles) & set(self.ppo.trained_roles))
        if trained:
            raise ValueError(f"greedy_roles must not be trained, for PPO learns from samples: {', '.join(trained)}")
        if "checker" in self.greedy_roles and self.reward.checker_votes > 1:
            raise ValueError("a greedy checker votes the same every time: reward.checker_votes must be 1")
        if self.ppo.rollout.max_new_tokens < self.max_new_tokens.most:
            raise ValueError("max_new_tokens of a role exceeds ppo.rollout.max_new_tokens")


class Params(msgspec.Struct, frozen=True, kw_only=True):
    """What the stage reads of params.yaml."""

    seed: int
    march: March

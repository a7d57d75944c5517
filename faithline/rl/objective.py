"""The objective: verl's `core_algos`, called with our settings, so that every engine computes the same.

All arrays are [rows, longest response] with a mask (see `rows`). Sums are divided by the tokens or rows of the *whole*
mini-batch (`Scale`), so a mini-batch may be cut into micro-batches of any shape and the gradient stays what it was.
Importing this module imports verl's core and with it ray and tensordict: 2 s and 200 MB on top of transformers, so
only engines do (`faithline.rl` itself is light).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
import verl.trainer.ppo.core_algos
from torch import Tensor

from faithline.rl.rows import group_by, place_rewards
from faithline.rl.settings import Clip, Kl

__all__ = [
    "Advantages",
    "KlController",
    "Scale",
    "advantages",
    "kl_controller",
    "kl_per_token",
    "mean",
    "policy_loss",
    "token_rewards",
    "value_loss",
]

# Untyped: its annotations say FloatTensor, and its decorators hide the keywords.
_core: Any = verl.trainer.ppo.core_algos

_MODES = {"token": "token-mean", "row": "seq-mean-token-mean"}
_ESTIMATORS = {"k1": "k1", "k2": "k2", "k3": "low_var_kl"}


@dataclass(frozen=True)
class Scale:
    """What sums are divided by: the size of the mini-batch that the rows at hand are a part of."""

    mean: Literal["token", "row"]
    tokens: int
    rows: int

    def info(self) -> dict[str, int]:
        """As verl's `agg_loss` takes it."""
        return {"dp_size": 1, "batch_num_tokens": self.tokens, "global_batch_size": self.rows}

    @classmethod
    def of(cls, mask: Tensor, kind: Literal["token", "row"]) -> Scale:
        """Size of a whole mini-batch."""
        return cls(kind, tokens=int(mask.sum()), rows=len(mask))


def mean(values: Tensor, mask: Tensor, scale: Scale) -> Tensor:
    """This part's share of the mini-batch's mean: shares of all parts add up to it."""
    share: Tensor = _core.agg_loss(values, mask.float(), _MODES[scale.mean], **scale.info())
    return share


def kl_per_token(logprobs: Tensor, reference: Tensor, settings: Kl) -> Tensor:
    """Estimate, token by token, the divergence of the policy from the reference."""
    estimate: Tensor = _core.kl_penalty(logprobs, reference, _ESTIMATORS[settings.estimator])
    return estimate


def token_rewards(rewards: Tensor, mask: Tensor, kl: Tensor, settings: Kl, coefficient: float) -> Tensor:
    """Each row's reward on its last valid token, less the penalty on divergence where that is part of the reward."""
    placed = place_rewards(rewards, mask)
    return placed - coefficient * kl * mask if settings.where == "reward" else placed


@dataclass(frozen=True)
class Advantages:
    """What each token was worth, [rows, longest response]; entries outside the mask mean nothing."""

    advantages: Tensor
    """Whitened."""
    returns: Tensor
    """Targets of the value model."""


def advantages(
    rewards: Tensor,
    values: Tensor,
    mask: Tensor,
    roles: Sequence[str],
    *,
    gamma: float,
    lam: float,
    whitening: Literal["joint", "per_role"],
) -> Advantages:
    """Generalised advantage estimation, row by row, and whitening over all rows or over each role's.

    Args:
        rewards: Per token, from `token_rewards`.
        values: Predicted before the update.
        mask: Valid tokens.
        roles: Of the rows.
        gamma: Discount per token.
        lam: Between one-step (0) and whole returns (1).
        whitening: Over which rows advantages get mean 0 and variance 1.
    """
    result = Advantages(torch.zeros_like(rewards), torch.zeros_like(rewards))
    groups = group_by(roles) if whitening == "per_role" else {"": range(len(roles))}
    for indices in groups.values():
        chosen = torch.as_tensor(list(indices), device=rewards.device)
        # verl cannot whiten a single token (its variance is undefined); two of the same come out as 0, which is right.
        rows = chosen.repeat(2) if int(mask[chosen].sum()) == 1 else chosen
        whitened, returns = _core.compute_gae_advantage_return(
            rewards[rows], values[rows], mask[rows].float(), gamma=gamma, lam=lam
        )
        result.advantages[chosen] = whitened[: len(chosen)]
        result.returns[chosen] = returns[: len(chosen)]
    return result


@dataclass(frozen=True)
class _PolicySettings:
    """The part of verl's actor configuration that its policy loss reads."""

    clip_ratio: float
    clip_ratio_low: float
    clip_ratio_high: float
    clip_ratio_c: float
    global_batch_info: Mapping[str, int]

    def get(self, name: str, default: Any) -> Any:
        """As verl reads what older configurations lack."""
        return getattr(self, name, default)


def policy_loss(
    old: Tensor, new: Tensor, advantage: Tensor, mask: Tensor, *, clip: Clip, scale: Scale
) -> tuple[Tensor, dict[str, float]]:
    """Clipped policy loss, with the dual clip for negative advantages.

    Returns:
        This part's share of the mini-batch's loss, and means over its own tokens: `clip_fraction`,
        `dual_clip_fraction`, `step_kl` (old policy from new).
    """
    settings = _PolicySettings(clip.low, clip.low, clip.high, clip.dual, scale.info())
    loss, found = _core.compute_policy_loss_vanilla(
        old, new, advantage, mask.float(), loss_agg_mode=_MODES[scale.mean], config=settings
    )
    names = {"actor/pg_clipfrac": "clip_fraction", "actor/pg_clipfrac_lower": "dual_clip_fraction"}
    return loss, {names.get(name, "step_kl"): float(value) for name, value in found.items()}


def value_loss(
    predicted: Tensor, returns: Tensor, old: Tensor, mask: Tensor, *, clip: Clip, scale: Scale
) -> tuple[Tensor, float]:
    """Clipped value loss: this part's share of the mini-batch's, and the share of its tokens that were clipped."""
    loss, clipped = _core.compute_value_loss(
        predicted, returns, old, mask.float(), clip.value, loss_agg_mode=_MODES[scale.mean], **scale.info()
    )
    return loss, float(clipped)


class KlController:
    """Coefficient of the divergence: verl's controllers, and a floor under the adaptive one."""

    def __init__(self, controller: Any, floor: float) -> None:
        self._controller = controller
        self._floor = floor

    @property
    def coefficient(self) -> float:
        """Weight of the divergence now."""
        return float(self._controller.value)

    def update(self, divergence: float, rows: int) -> None:
        """Take note of a step.

        Args:
            divergence: Mean over rows of the divergence summed over tokens.
            rows: Rows of the step.
        """
        self._controller.update(divergence, rows)
        self.restore(self.coefficient)

    def restore(self, coefficient: float) -> None:
        """Continue from a coefficient."""
        self._controller.value = max(coefficient, self._floor)


def kl_controller(settings: Kl) -> KlController:
    """Make the controller that the settings ask for."""
    if settings.controller == "fixed":
        return KlController(_core.FixedKLController(settings.coefficient), floor=0.0)
    adaptive = _core.AdaptiveKLController(settings.coefficient, settings.target, settings.horizon)
    return KlController(adaptive, floor=settings.floor)

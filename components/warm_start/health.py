"""When a training has gone wrong: a number that is not finite, or a model that got no better."""

from __future__ import annotations

import math

import torch
from torch import nn

from faithline.pipeline.errors import Diverged

__all__ = ["require_better", "require_finite", "require_finite_weights"]

_NEXT = "lower warm_start.optimisation.learning_rate, or raise its warmup_ratio"


def require_finite(value: float, name: str, step: int) -> None:
    """Check one measured number.

    Raises:
        Diverged: It is NaN or infinite.
    """
    if not math.isfinite(value):
        raise Diverged(f"the {name} is {value} after {step} optimiser steps", where="training", next_step=_NEXT)


def require_finite_weights(model: nn.Module) -> None:
    """Check every trained weight: the last step has no later loss that would tell.

    Raises:
        Diverged: One is NaN or infinite.
    """
    for name, weight in model.named_parameters():
        if weight.requires_grad and not bool(torch.isfinite(weight).all()):
            raise Diverged("a trained weight is not a finite number", where=name, next_step=_NEXT)


def require_better(before: float, after: float, adapter: str) -> None:
    """Check that training has lowered the validation loss: a collapse may give finite numbers.

    Args:
        before: Of the backbone alone.
        after: Of the adapter to be kept.
        adapter: Its name.

    Raises:
        Diverged: It has not.
    """
    if after >= before:
        raise Diverged(
            f"training did not lower the validation loss: {before:.4g} before, {after:.4g} after",
            where=f"training of adapter {adapter}",
            next_step=f"{_NEXT}; or train longer on more examples",
        )

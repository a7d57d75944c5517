"""When a training has gone wrong: a number that is not finite. Retrying unchanged does not help."""

from __future__ import annotations

import math

import torch
from torch import nn

from faithline.pipeline.errors import Diverged

__all__ = ["require_finite", "require_finite_weights"]

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

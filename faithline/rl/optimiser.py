"""AdamW over one set of parameters, with clipped gradients and a learning rate that depends on the step alone.

Its state is plain tensors by name, so a checkpoint holds it as safetensors and a resumed run goes on bit by bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from faithline.pipeline.errors import ConfigError, Diverged
from faithline.rl.settings import Actor, Critic

__all__ = ["Optimiser", "learning_rate"]


def learning_rate(settings: Actor | Critic, step: int, steps: int) -> float:
    """Learning rate of a training step (counted from 1): linear warm-up, then the scheduler over the steps left."""
    if step < settings.warmup_steps:
        return settings.learning_rate * step / settings.warmup_steps
    left = max(1, steps - settings.warmup_steps)
    done = min(1.0, max(0, step - 1 - settings.warmup_steps) / left)
    shares = {"constant": 1.0, "linear": 1.0 - done, "cosine": 0.5 * (1.0 + math.cos(math.pi * done))}
    return settings.learning_rate * shares[settings.scheduler]


class Optimiser:
    """AdamW for named parameters."""

    def __init__(self, name: str, parameters: Mapping[str, nn.Parameter], settings: Actor | Critic, steps: int) -> None:
        self.name = name
        self._parameters = dict(parameters)
        self._settings = settings
        self._steps = steps
        self._adam = torch.optim.AdamW(
            list(self._parameters.values()), lr=settings.learning_rate, weight_decay=settings.weight_decay
        )

    def clip(self, step: int) -> float:
        """Clip the gathered gradient; all optimisers of a step do so before the first one changes weights.

        Args:
            step: The training step, from 1.

        Returns:
            Length of the gradient before.

        Raises:
            Diverged: It is not finite; the weights stay as they were.
        """
        parameters = list(self._parameters.values())
        norm = float(nn.utils.clip_grad_norm_(parameters, self._settings.max_grad_norm))
        if not math.isfinite(norm):
            raise Diverged(
                f"the gradient of `{self.name}` is not finite at step {step}",
                where="training",
                next_step="lower the learning rate or max_grad_norm",
            )
        return norm

    def step(self, step: int) -> None:
        """Apply the gathered gradients and drop them."""
        for group in self._adam.param_groups:
            group["lr"] = self.rate(step)
        self._adam.step()
        self._adam.zero_grad(set_to_none=True)

    def rate(self, step: int) -> float:
        """Learning rate of a training step."""
        return learning_rate(self._settings, step, self._steps)

    def state(self) -> dict[str, Tensor]:
        """Moments and counters, by parameter; empty before the first step."""
        return {
            f"{name}|{key}": value.detach().clone()
            for name, parameter in self._parameters.items()
            for key, value in self._adam.state.get(parameter, {}).items()
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Put a saved state back.

        Raises:
            ConfigError: It is of other parameters.
        """
        self._adam.zero_grad(set_to_none=True)
        self._adam.state.clear()
        for full, tensor in tensors.items():
            name, _, key = full.rpartition("|")
            if name not in self._parameters or (key != "step" and tensor.shape != self._parameters[name].shape):
                raise ConfigError(
                    f"the saved optimiser of `{self.name}` does not fit its parameters",
                    where=name,
                    next_step="continue with the settings that the checkpoint was written under",
                )
            parameter = self._parameters[name]
            place = torch.device("cpu") if key == "step" else parameter.device
            self._adam.state[parameter][key] = tensor.to(place, copy=True)

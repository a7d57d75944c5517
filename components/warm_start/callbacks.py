"""What watches the training: the curve, the best adapter so far, the progress report."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from peft import PeftModel, get_peft_model_state_dict, set_peft_model_state_dict
from torch import Tensor
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from typing_extensions import override

from components.warm_start.health import require_finite

__all__ = ["Best", "Curve", "Reporter"]

_VALIDATION_LOSS = "eval_token_loss"
_LOGGED = {"loss": "loss", "learning_rate": "learning_rate", _VALIDATION_LOSS: "eval_loss", "eval_exact": "eval_exact"}
"""The Trainer's name of a measured number, and the curve's."""


class Curve(TrainerCallback):
    """Gathers the training curve; ends the run when a loss or gradient is not finite."""

    def __init__(self) -> None:
        self.rows: dict[int, dict[str, float]] = {}
        """By optimiser step; step 0 is before training."""

    @override
    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Take what the Trainer logs."""
        logs: Mapping[str, float] = kwargs["logs"]
        for name in {"loss", "grad_norm", _VALIDATION_LOSS} & logs.keys():
            require_finite(float(logs[name]), name, state.global_step)
        found = {name: float(logs[key]) for key, name in _LOGGED.items() if key in logs}
        if found:
            self.rows.setdefault(state.global_step, {}).update(found)


class Best(TrainerCallback):
    """Keeps the adapter with the lowest validation loss in memory; the earlier one wins a tie."""

    def __init__(self, model: PeftModel) -> None:
        self._model = model
        self._weights: dict[str, Tensor] = {}
        self._loss = math.inf
        self.step = -1
        """Optimiser step of the best adapter."""

    @override
    def on_evaluate(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Take the adapter when it is the best so far."""
        loss = float(kwargs["metrics"][_VALIDATION_LOSS])
        if loss < self._loss:
            self._loss, self.step = loss, state.global_step
            weights = get_peft_model_state_dict(self._model, save_embedding_layers=False)
            self._weights = {name: tensor.detach().clone() for name, tensor in weights.items()}

    def restore(self) -> None:
        """Put the best adapter back into the model."""
        set_peft_model_state_dict(self._model, self._weights)


class Reporter(TrainerCallback):
    """Reports the tokens read after each optimiser step; steps differ too much in length for an honest ETA."""

    def __init__(self, advance: Callable[[int], None]) -> None:
        self._advance = advance
        self._reported = 0

    @override
    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Report the tokens of one step more."""
        self._advance(int(state.num_input_tokens_seen) - self._reported)
        self._reported = int(state.num_input_tokens_seen)

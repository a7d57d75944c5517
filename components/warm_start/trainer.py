"""transformers' Trainer with the completion loss.

Owns nothing of the training loop: batching, accumulation, clipping, schedule and evaluation are the Trainer's. The loss
of a step is the mean over all learned tokens of its batches, as the Trainer counts them (`num_items_in_batch`). A loss
that is not finite ends the run at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor, nn
from transformers import EvalPrediction, Trainer

from components.warm_start.health import require_finite
from components.warm_start.loss import token_losses

__all__ = ["AnswerTrainer", "summarise"]


class AnswerTrainer(Trainer):
    """Trainer with the completion loss."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        # Else the Trainer counts no tokens for models whose forward pass takes no loss settings, and divides instead.
        self.model_accepts_loss_kwargs = True

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Tensor | Any],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Tensor | tuple[Tensor, dict[str, Tensor]]:
        """Mean loss over the learned tokens of the whole optimiser step; see the base class."""
        head = self.accelerator.unwrap_model(model).get_output_embeddings()
        losses = token_losses(model, head, inputs)
        loss = losses.nll.sum() / (len(losses.nll) if num_items_in_batch is None else num_items_in_batch)
        require_finite(loss.item(), "loss", self.state.global_step)
        return (loss, losses.per_row()) if return_outputs else loss


def summarise(prediction: EvalPrediction) -> dict[str, float]:
    """Validation metrics, whatever the batching: mean loss per learned token, share of examples all right."""
    nll, tokens, correct = (np.asarray(values) for values in prediction.predictions)
    return {"token_loss": float(nll.sum() / tokens.sum()), "exact": float((correct == tokens).mean())}

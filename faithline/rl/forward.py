"""One forward pass over rows: log-probabilities of the response tokens and the hidden states under them.

A response is a few tokens behind hundreds of prompt tokens, and a row of logits has as many entries as the vocabulary;
so the model's own forward pass runs unchanged, but its output layer sees only the positions that predict a response
token. The input of the output layer at these positions is also what value heads read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from faithline.rl.rows import Inputs

__all__ = ["Outputs", "forward", "hidden_states"]

_ENTROPY_CHUNK = 256
"""Positions at a time: without a gradient nothing needs all of [positions, vocabulary] twice."""


@dataclass(frozen=True)
class Outputs:
    """Of the selected positions, in float32."""

    logprobs: Tensor
    """[selected]: of the tokens that stand there, at the sampling temperature."""
    hidden: Tensor
    """[selected, hidden], with its gradient."""
    entropy: Tensor | None
    """[selected], in nats, where asked for."""


def forward(model: Any, inputs: Inputs, temperature: float, *, with_entropy: bool) -> Outputs:
    """Run a causal language model over rows padded on the right (see `rows`); gradients follow the caller's mode."""
    with _selecting(model, inputs.selected, keep=None) as seen:
        logits = model(input_ids=inputs.ids, use_cache=False).logits.float()
    if temperature != 1.0:
        logits = logits / temperature
    distributions = logits.log_softmax(dim=-1)
    logprobs = distributions.gather(1, inputs.targets[:, None]).squeeze(1)
    return Outputs(logprobs, seen[0].float(), _entropy(distributions) if with_entropy else None)


def hidden_states(model: Any, inputs: Inputs) -> Tensor:
    """Last hidden states of the selected positions, [selected, hidden], float32; no logits are computed."""
    with _selecting(model, inputs.selected, keep=0) as seen:
        model(input_ids=inputs.ids, use_cache=False)
    return seen[0].float()


def _entropy(log_distributions: Tensor) -> Tensor:
    if log_distributions.requires_grad:
        return -(log_distributions.exp() * log_distributions).sum(dim=-1)
    chunks = (log_distributions[at : at + _ENTROPY_CHUNK] for at in range(0, len(log_distributions), _ENTROPY_CHUNK))
    return torch.cat([-(chunk.exp() * chunk).sum(dim=-1) for chunk in chunks])


@contextmanager
def _selecting(model: Any, selected: Tensor, *, keep: int | None) -> Iterator[list[Tensor]]:
    """Let the output layer see only selected positions (the first `keep` of them), and note what they hold."""
    seen: list[Tensor] = []

    def select(_module: nn.Module, arguments: tuple[Any, ...]) -> tuple[Tensor]:
        seen.append(arguments[0][selected])
        return (seen[0][:keep],)

    handle = model.get_output_embeddings().register_forward_pre_hook(select)
    try:
        yield seen
    finally:
        handle.remove()

"""The completion loss: transformers' causal language-model loss, with logits only where something is learned.

An answer is a handful of tokens behind hundreds of prompt tokens, and a row of logits has as many entries as the
vocabulary, so logits of the prompt would take most of the memory and a good part of the time for nothing. The model's
own forward pass runs unchanged, but its output layer sees only the positions whose next token is labelled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from components.warm_start.example_sets import IGNORED

__all__ = ["TokenLosses", "collate", "token_losses"]


class TokenLosses:
    """Negative log-likelihoods of the learned tokens of a batch."""

    def __init__(self, nll: Tensor, row: Tensor, correct: Tensor, rows: int) -> None:
        self.nll = nll
        """[learned]: in float32, rows in order."""
        self._row = row
        self._correct = correct
        self._rows = rows

    def per_row(self) -> dict[str, Tensor]:
        """Sums per example, [rows] each: loss, learned tokens, tokens that greedy decoding would give."""

        def total(values: Tensor) -> Tensor:
            return torch.zeros(self._rows, device=values.device).index_add(0, self._row, values.float())

        return {
            "nll": total(self.nll.detach()),
            "tokens": total(torch.ones_like(self.nll)),
            "correct": total(self._correct),
        }


def collate(rows: Sequence[Mapping[str, Sequence[int]]]) -> dict[str, Tensor]:
    """Batch examples, padded on the right; padding is neither attended to nor learned.

    Returns:
        `input_ids`, `attention_mask` and `labels`, [rows, longest].
    """
    ids = [torch.tensor(row["input_ids"]) for row in rows]
    labels = [torch.tensor(row["labels"]) for row in rows]
    return {
        "input_ids": pad_sequence(ids, batch_first=True, padding_value=0),
        "attention_mask": pad_sequence([torch.ones_like(row) for row in ids], batch_first=True, padding_value=0),
        "labels": pad_sequence(labels, batch_first=True, padding_value=IGNORED),
    }


def token_losses(model: nn.Module, head: nn.Module, inputs: Mapping[str, Tensor]) -> TokenLosses:
    """Compute the loss of every learned token.

    Args:
        model: Causal language model whose forward pass takes `input_ids` and `attention_mask`.
        head: Its output layer, wherever in `model` it sits.
        inputs: From `collate`.
    """
    shifted = inputs["labels"][:, 1:]
    learned = shifted != IGNORED
    selected = nn.functional.pad(learned, (0, 1), value=False)
    with _only(head, selected):
        logits = model(
            input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"], use_cache=False
        ).logits.float()
    gold = shifted[learned]
    nll = nn.functional.cross_entropy(logits, gold, reduction="none")
    row = learned.nonzero()[:, 0]
    return TokenLosses(nll, row, logits.detach().argmax(dim=1) == gold, len(shifted))


@contextmanager
def _only(head: nn.Module, selected: Tensor) -> Iterator[None]:
    """Let `head` see only the selected positions [rows, length] of what it is given, as [selected, hidden]."""

    def select(_module: nn.Module, arguments: tuple[Tensor, ...]) -> tuple[Tensor]:
        return (arguments[0][selected],)

    handle = head.register_forward_pre_hook(select)
    try:
        yield
    finally:
        handle.remove()

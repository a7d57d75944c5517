"""Padded arrays that the objective is computed on, made of rows.

Arrays over response tokens are [rows, longest response], padded on the right and told apart by a mask: whatever
stands behind a response has no effect. The reward belongs to a response's *last valid token* (the released MARCH code
puts the Checker's at the last padded index, where estimation that skips padding never sees it).

For a forward pass prompt and response are joined and padded on the right as well: under causal attention nothing valid
ever looks at padding, so the model needs no mask, and rows sorted by length leave little of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from faithline.rl.row import Row

__all__ = ["Inputs", "group_by", "minibatches", "pack", "pad", "place_rewards", "response_mask", "to_inputs"]

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Inputs:
    """Some rows, ready for one forward pass."""

    ids: Tensor
    """[rows, longest]: prompt, response, padding."""
    selected: Tensor
    """[rows, longest], bool: positions that predict a response token."""
    targets: Tensor
    """[selected]: the tokens they predict, row by row."""
    mask: Tensor
    """[rows, longest response], bool: where a row has a response token."""

    def scatter(self, values: Tensor) -> Tensor:
        """Spread values of the selected positions over [rows, longest response]; zeros elsewhere."""
        spread = values.new_zeros(self.mask.shape)
        return spread.masked_scatter(self.mask, values)


def to_inputs(rows: Sequence[Row], device: torch.device) -> Inputs:
    """Join and pad rows for one forward pass."""
    longest = max(row.length for row in rows)
    ids = np.zeros((len(rows), longest), dtype=np.int64)
    selected = np.zeros((len(rows), longest), dtype=bool)
    for number, row in enumerate(rows):
        prompt = len(row.prompt_ids)
        ids[number, :prompt] = row.prompt_ids
        ids[number, prompt : row.length] = row.response_ids
        selected[number, prompt - 1 : row.length - 1] = True
    targets = np.concatenate([np.asarray(row.response_ids, dtype=np.int64) for row in rows])
    return Inputs(
        ids=torch.from_numpy(ids).to(device),
        selected=torch.from_numpy(selected).to(device),
        targets=torch.from_numpy(targets).to(device),
        mask=response_mask(rows).to(device),
    )


def response_mask(rows: Sequence[Row]) -> Tensor:
    """[rows, longest response], bool: where a row has a response token."""
    lengths = torch.tensor([len(row.response_ids) for row in rows])
    return torch.arange(int(lengths.max()))[None, :] < lengths[:, None]


def pad(values: Sequence[Sequence[float]], mask: Tensor) -> Tensor:
    """Spread one number per response token over the shape of `mask`, float32; zeros elsewhere."""
    flat = torch.from_numpy(np.concatenate([np.asarray(row, dtype=np.float32) for row in values]))
    return torch.zeros(mask.shape).masked_scatter(mask, flat)


def place_rewards(rewards: Tensor, mask: Tensor) -> Tensor:
    """Put each row's reward on its last valid token.

    Args:
        rewards: [rows].
        mask: [rows, longest response], bool, each row's valid tokens; they need not be contiguous.

    Returns:
        [rows, longest response], float32.
    """
    places = torch.arange(mask.shape[1], device=mask.device).expand_as(mask)
    last = places.masked_fill(~mask, -1).amax(dim=1)
    return torch.where(places == last[:, None], rewards[:, None].float(), 0.0)


def pack(lengths: Sequence[int], budget: int) -> list[Indices]:
    """Pack rows into micro-batches, longest first: rows x longest <= `budget`, except for a single longer row."""
    order = np.argsort(-np.asarray(lengths, dtype=np.int64), kind="stable")
    batches: list[list[int]] = []
    longest = 0
    for index in order.tolist():
        if not batches or (len(batches[-1]) + 1) * longest > budget:
            batches.append([])
            longest = lengths[index]
        batches[-1].append(index)
    return [np.asarray(batch, dtype=np.int64) for batch in batches]


def minibatches(rows: int, size: int, random: np.random.Generator) -> list[Indices]:
    """Deal rows, shuffled, into mini-batches of equal size as far as possible, none larger than `size`."""
    count = math.ceil(rows / size)
    return [np.sort(part) for part in np.array_split(random.permutation(rows).astype(np.int64), count)]


def group_by(names: Sequence[str]) -> dict[str, Indices]:
    """Positions of each name, names sorted."""
    array = np.asarray(names, dtype=np.str_)
    return {str(name): np.flatnonzero(array == name) for name in np.unique(array)}

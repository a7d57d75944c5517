"""Grouped-query attention for decoding, registered with transformers under a name of its own.

transformers' `sdpa` attention copies every key and value head once per query head before each step, because the fused
kernels want equal head counts when there is a mask. With one query position the heads of a group can stand in for
query positions instead, as all of them see the same keys under the same mask: the same numbers without the copy.
Anything but a single query position is left to `sdpa`.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

__all__ = ["NAME"]

NAME = "faithline_grouped"
"""Value for `attn_implementation`; importing this module makes it known."""


def _forward(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    dropout: float = 0.0,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    batch, heads, positions, width = query.shape
    shared_mask = attention_mask is None or attention_mask.shape[1] == 1
    if positions != 1 or key.shape[1] == heads or dropout or not shared_mask:
        result: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **kwargs
        )
        return result
    groups = query.reshape(batch, key.shape[1], heads // key.shape[1], width)
    output = torch.nn.functional.scaled_dot_product_attention(
        groups, key, value, attn_mask=attention_mask, scale=scaling
    )
    return output.reshape(batch, 1, heads, width), None


AttentionInterface.register(NAME, _forward)
AttentionMaskInterface.register(NAME, sdpa_mask)

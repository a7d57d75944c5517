"""A key-value cache with spare room: new states are written in place.

transformers' dynamic cache concatenates, that is, copies the whole cache at each decoding step. Here each layer with
full attention owns a buffer that is longer than its content; `keys` and `values` are views of the filled part. Layers
of other kinds (sliding windows) stay as transformers makes them.
"""

from __future__ import annotations

import torch
from transformers import PreTrainedConfig
from transformers.cache_utils import DynamicCache, DynamicLayer

__all__ = ["RoomyLayer", "can_repeat", "new_cache", "repeat"]


class RoomyLayer(DynamicLayer):  # type: ignore[no-untyped-call]
    """Full-attention layer cache, states of shape (batch, heads, length, width)."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self._room = room
        self._buffers: tuple[torch.Tensor, torch.Tensor] | None = None

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_args: object, **_kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append states and return all of them."""
        old = self.get_seq_length()
        new = old + key_states.shape[-2]
        if self._buffers is None:
            self.lazy_initialization(key_states, value_states)
            self._buffers = self._roomy(key_states, new), self._roomy(value_states, new)
        elif self._buffers[0].shape[-2] < new:
            keys, values = self._roomy(key_states, new), self._roomy(value_states, new)
            keys[:, :, :old], values[:, :, :old] = (buffer[:, :, :old] for buffer in self._buffers)
            self._buffers = keys, values
        keys, values = self._buffers
        keys[:, :, old:new], values[:, :, old:new] = key_states, value_states
        self.keys, self.values = keys[:, :, :new], values[:, :, :new]
        return self.keys, self.values

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keep some rows of the batch."""
        if self._buffers is not None:
            length = self.get_seq_length()
            keys, values = (buffer.index_select(0, indices) for buffer in self._buffers)
            self._buffers = keys, values
            self.keys, self.values = keys[:, :, :length], values[:, :, :length]

    def copy_into(self, other: RoomyLayer, rows: int) -> None:
        """Append this layer's one row to another layer, `rows` times."""
        if self._buffers is not None:
            length = self.get_seq_length()
            keys, values = (buffer[:, :, :length].expand(rows, -1, -1, -1) for buffer in self._buffers)
            other.update(keys, values)

    def _roomy(self, states: torch.Tensor, length: int) -> torch.Tensor:
        batch, heads, _, width = states.shape
        return states.new_empty(batch, heads, length + self._room, width)


def new_cache(config: PreTrainedConfig, room: int) -> DynamicCache:
    """Make an empty cache whose full-attention layers keep `room` positions beyond the first states they are given."""
    cache = DynamicCache(config=config)
    cache.layers = [RoomyLayer(room) if type(layer) is DynamicLayer else layer for layer in cache.layers]
    return cache


def can_repeat(cache: DynamicCache) -> bool:
    """Whether the cache of one row can become the beginning of many: all layers have full attention."""
    return all(isinstance(layer, RoomyLayer) for layer in cache.layers)


def repeat(prefix: DynamicCache, cache: DynamicCache, rows: int) -> None:
    """Begin every row of an empty cache with a prefix.

    Args:
        prefix: A cache of one row for which `can_repeat` holds.
        cache: Empty, of the same model; its room should hold all that will follow, or buffers are copied once.
        rows: Rows of the cache.
    """
    for old, new in zip(prefix.layers, cache.layers, strict=True):
        if isinstance(old, RoomyLayer) and isinstance(new, RoomyLayer):
            old.copy_into(new, rows)

"""Settings of build_index; every value comes from params.yaml."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec


class BuildIndex(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Section `build_index`. Pooling and normalisation are the embedder folder's affair."""

    device: Literal["auto", "cpu", "cuda"]
    """Where the encoder runs; `auto` takes a GPU when there is one."""
    dtype: Literal["float16", "float32"]
    """Number type of the stored vectors; computing is always float32."""
    max_length: Annotated[int, msgspec.Meta(ge=3)]
    """Tokens read of a document or question, special ones included; the rest is cut off and counted."""
    tokens_per_batch: Annotated[int, msgspec.Meta(ge=1)]
    """Tokens of a batch, padding included."""


class Params(msgspec.Struct, frozen=True, kw_only=True):
    """What the stage reads of params.yaml."""

    build_index: BuildIndex

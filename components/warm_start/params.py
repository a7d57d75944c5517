"""Settings of warm_start; every value comes from params.yaml."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

Count = Annotated[int, msgspec.Meta(ge=1)]
Share = Annotated[float, msgspec.Meta(ge=0.0, lt=1.0)]


class Examples(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which questions are learned from, and in what context."""

    sets: list[str] | None
    """Sets of data/prepared to take questions from; null = all."""
    train: Count
    """Most training questions (split train), drawn by seed."""
    validation: Count
    """Most validation questions (split validation)."""
    distractors: Annotated[int, msgspec.Meta(ge=0)]
    """Passages without evidence shown beside the gold ones, as far as the question has them."""
    max_length: Count
    """Tokens of prompt and completion. Distractors give way first; what is still longer is left out and counted."""


class Lora(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Shape of the adapter."""

    rank: Count
    alpha: Count
    """Scale of the update: alpha / rank."""
    dropout: Share
    target_modules: Annotated[list[str], msgspec.Meta(min_length=1)]
    """Names of the linear layers that get an update."""


class Optimisation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the adapter is trained."""

    learning_rate: Annotated[float, msgspec.Meta(gt=0.0)]
    """Peak learning rate of AdamW."""
    scheduler: Literal["linear", "cosine", "constant_with_warmup"]
    """Learning rate after the warm-up."""
    warmup_ratio: Share
    """Share of the optimiser steps with rising learning rate."""
    weight_decay: Annotated[float, msgspec.Meta(ge=0.0)]
    max_grad_norm: Annotated[float, msgspec.Meta(gt=0.0)]
    """Gradients longer than this are scaled down to it."""
    epochs: Annotated[float, msgspec.Meta(gt=0.0)]
    """Passes over the training questions."""
    batch_size: Count
    """Questions per forward pass."""
    accumulation: Count
    """Forward passes per optimiser step."""
    gradient_checkpointing: bool
    """Recompute activations in the backward pass: a third more work for a fraction of the memory."""


class WarmStart(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Section `warm_start`."""

    device: Literal["auto", "cpu", "cuda"]
    dtype: Literal["auto", "float32", "bfloat16"]
    """Number type of the frozen backbone; `auto` is bfloat16 on a GPU that computes it, float32 elsewhere."""
    examples: Examples
    lora: Lora
    optimisation: Optimisation
    log_every: Count
    """Optimiser steps between two points of the training curve."""
    eval_every: Count
    """Optimiser steps between two measurements on the validation questions."""
    keep: Literal["best", "last"]
    """Which adapter is written: the one with the lowest validation loss, or the last one."""


class Params(msgspec.Struct, frozen=True, kw_only=True):
    """What the stage reads of params.yaml."""

    seed: int
    warm_start: WarmStart

"""Settings of warm_start; every value comes from params.yaml."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

Count = Annotated[int, msgspec.Meta(ge=1)]
Share = Annotated[float, msgspec.Meta(ge=0.0, lt=1.0)]
AdapterName = Annotated[str, msgspec.Meta(pattern="^[a-z][a-z0-9_]*$")]


class Rows(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How much of one role is learned."""

    sets: list[str] | None
    """Sets of data/prepared to take questions from; null = all."""
    train: Count
    """Most training examples (split train)."""
    validation: Count
    """Most validation examples (split validation)."""


class DocumentRows(Rows, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A role that is shown documents."""

    distractors: Annotated[int, msgspec.Meta(ge=0)]
    """Documents shown beside those that the completion is made of, as far as there are any; length may leave fewer."""


class ProposerRows(Rows, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """MARCH's Proposer; its prompt should be the one of `march.reward`, and train_march warns if it is not."""

    sees_query: bool
    min_pairs: Count
    max_pairs: Count


class Roles(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What one adapter learns; a role that is absent is not learned."""

    answer: DocumentRows | None = None
    """Grounded answers, from the questions of data/prepared, drawn by seed."""
    solver: DocumentRows | None = None
    """This and the next: rows of data/training/sft, those drawn first there."""
    proposer: ProposerRows | None = None
    checker: DocumentRows | None = None

    def __post_init__(self) -> None:
        """Refuse an adapter that learns nothing."""
        if not self.named():
            raise ValueError("an adapter needs at least one role")

    def named(self) -> dict[str, Rows]:
        """The roles that are learned, in a fixed order."""
        found = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: rows for name, rows in found.items() if rows is not None}


class Adapter(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One adapter."""

    roles: Roles
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
    """Passes over the training examples."""
    batch_size: Count
    """Examples per forward pass."""
    accumulation: Count
    """Forward passes per optimiser step."""
    gradient_checkpointing: bool
    """Recompute activations in the backward pass: a third more work for a fraction of the memory."""


class WarmStart(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Section `warm_start`."""

    device: Literal["auto", "cpu", "cuda"]
    dtype: Literal["auto", "float32", "bfloat16"]
    """Number type of the frozen backbone; `auto` is bfloat16 on a GPU that computes it, float32 elsewhere."""
    adapters: Annotated[dict[AdapterName, Adapter], msgspec.Meta(min_length=1)]
    """What is trained, each from the backbone; the names are folders of models/warm_start."""
    lora: Lora
    optimisation: Optimisation
    log_every: Count
    """Optimiser steps between two points of the training curve."""
    eval_every: Count
    """Optimiser steps between two measurements on the validation examples."""
    keep: Literal["best", "last"]
    """Which adapter is written: the one with the lowest validation loss, or the last one."""


class Params(msgspec.Struct, frozen=True, kw_only=True):
    """What the stage reads of params.yaml."""

    seed: int
    warm_start: WarmStart

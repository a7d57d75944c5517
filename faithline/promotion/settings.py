"""Settings of the promotion gate: section `promote` of params.yaml."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

__all__ = ["FirstCandidate", "Promote", "SliceGuard", "SliceLabel"]

Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
Margin = Annotated[float, msgspec.Meta(gt=0.0, lt=1.0)]
Count = Annotated[int, msgspec.Meta(ge=1)]
SliceLabel = Literal["set", "hops", "question_type", "answer_type", "noise_level"]


class SliceGuard(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What no part of the questions may lose."""

    by: list[SliceLabel]
    """Labels to slice by, one at a time; empty = no guard."""
    min_items: Count
    """Smaller slices are not looked at."""
    margin: Margin
    """Loss of F1, or rise of the hallucination rate, that a slice may have."""


class FirstCandidate(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a candidate must show while there is no champion."""

    min_f1: Share
    """Least F1, for the lower end of its interval."""
    max_hallucination_rate: Share
    """Greatest hallucination rate, for the upper end of its interval."""


class Promote(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Section `promote`."""

    registry: Annotated[str, msgspec.Meta(min_length=1)]
    """Where champions are kept: s3://BUCKET/PREFIX, or a folder (relative to the project)."""
    name: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
    """Name of the promoted system, on its card and in tags."""
    licence: Annotated[str, msgspec.Meta(min_length=1)]
    """Licence of the adapters, an identifier that the Hugging Face hub knows."""
    models: Annotated[list[str], msgspec.Meta(min_length=1)]
    """Adapter folders that are promoted together; each must be a dependency of the stage `promote`."""
    approval: Literal["none", "required"]
    """required: the verdict only submits the candidate; `faithline promote approve` makes it the champion."""
    alpha: Annotated[float, msgspec.Meta(gt=0.0, lt=0.5)]
    """One-sided level of every test; intervals have the mass 1 - 2 alpha."""
    bootstrap_samples: Annotated[int, msgspec.Meta(ge=1000)]
    """Draws per test; their reciprocal is the smallest p-value."""
    bootstrap_seed: Annotated[int, msgspec.Meta(ge=0)]
    min_items: Count
    """Fewer common items than this decide nothing."""
    max_unjudged: Share
    """Greatest share of items without a hallucination verdict on both sides."""
    f1_margin: Margin
    """Loss of F1 that is still called equal."""
    answer_rate_margin: Margin
    """Loss of the answer rate that is still called equal: who says less must not look more faithful."""
    min_improvement: Margin
    """Fall of the hallucination rate worth a change; a candidate shown to have less is kept out."""
    slices: SliceGuard
    first: FirstCandidate

"""Settings of the stage `evaluate`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from faithline.metrics.normalise import Normalisation


class Evaluate(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How answers are scored."""

    normalisation: Normalisation
    """The rule behind `em`, `f1`, `accuracy` and `recall`; EM and F1 under both are always reported too."""
    hallucination: Literal["wrong", "unfound"]
    """When an answer is a hallucination: `wrong` (no word of a gold answer, or none was to be given) or `unfound` (its
    words stand in no passage shown)."""
    bootstrap_samples: Annotated[int, msgspec.Meta(ge=100)]
    """Draws per interval."""
    confidence: Annotated[float, msgspec.Meta(gt=0, lt=1)]
    """Mass of each interval."""
    bootstrap_seed: Annotated[int, msgspec.Meta(ge=0)]
    """Seed of the draws."""


class Params(msgspec.Struct, frozen=True, kw_only=True):
    """The sections of params.yaml that this stage depends on."""

    evaluate: Evaluate

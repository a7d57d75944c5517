"""Settings of `fetch_models`: the two models of the pipeline."""

from __future__ import annotations

import msgspec

from faithline.models.spec import ModelSpec


class Params(msgspec.Struct, frozen=True, kw_only=True):
    """Sections of `params.yaml` that the stage reads."""

    backbone: ModelSpec
    """The language model that is tuned and answers."""
    embedder: ModelSpec
    """The sentence encoder of the retrieval index."""

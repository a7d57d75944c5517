"""Settings of prepare_data; values come from params.yaml only."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from faithline.data.source_settings import SourceSettings

__all__ = ["Params", "PrepareData"]


class PrepareData(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The stage's section."""

    root: str
    """Folder of the raw sets; a dependency of the stage."""
    split_seed: int
    """Seed of the splits; changing it deals all questions anew, so trained models must be retrained."""
    on_invalid: Literal["fail", "skip"]
    """What a bad row does: fail ends the run naming it, skip leaves it out and counts it in sources.json."""
    max_document_chars: Annotated[int, msgspec.Meta(ge=1)]
    """Characters of the longest document; a row with a longer one is a bad row: cutting would change its meaning."""
    sources: Annotated[list[SourceSettings], msgspec.Meta(min_length=1)]
    """The sets to read, in the order of the tables' rows."""


class Params(msgspec.Struct, frozen=True, kw_only=True):
    """Sections of params.yaml that the stage depends on."""

    prepare_data: PrepareData

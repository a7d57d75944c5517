"""Settings of the stage `report`."""

from __future__ import annotations

from typing import Annotated

import msgspec


class Report(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the page shows."""

    title: str
    """Heading of the page."""
    worst_per_set: Annotated[int, msgspec.Meta(ge=0)]
    """Items per set in the error gallery."""
    passage_characters: Annotated[int, msgspec.Meta(ge=0)]
    """Characters of each passage in the gallery; the rest is cut off."""
    min_slice_items: Annotated[int, msgspec.Meta(ge=1)]
    """Smaller slices are left out of the slices table (and counted): their intervals say nothing."""


class Params(msgspec.Struct, frozen=True, kw_only=True):
    """The sections of params.yaml that this stage depends on."""

    report: Report

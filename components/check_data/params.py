"""Settings of the stage `check_data`."""

from __future__ import annotations

import msgspec

from faithline.gates.limits import Gates
from faithline.noise.settings import Noise

__all__ = ["Params"]


class Params(msgspec.Struct, frozen=True, kw_only=True):
    """The sections of params.yaml that this stage depends on."""

    noise: Noise
    gates: Gates

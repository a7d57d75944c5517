"""Settings of the stage `compare`."""

from __future__ import annotations

import msgspec

from faithline.promotion.settings import Promote


class Params(msgspec.Struct, frozen=True, kw_only=True):
    """The sections of params.yaml that this stage depends on."""

    promote: Promote

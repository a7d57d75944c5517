"""Settings of MARCH's episodes; values come from params.yaml only (section `march`)."""

from __future__ import annotations

from typing import Annotated

import msgspec

__all__ = ["NewTokens"]

Count = Annotated[int, msgspec.Meta(ge=1)]


class NewTokens(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Key `march.max_new_tokens`: the most that a role writes."""

    solver: Count
    proposer: Count
    checker: Count

    @property
    def most(self) -> int:
        """The longest completion of any role."""
        return max(self.solver, self.proposer, self.checker)

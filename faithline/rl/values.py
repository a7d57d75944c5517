"""Value heads: one linear layer each on last hidden states, for all roles or one per role.

They start at zero, so before anything is learned every value is 0 and an advantage is the whole return.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

__all__ = ["ValueHeads"]

_SHARED = "shared"


class ValueHeads:
    """Heads by role."""

    def __init__(
        self, kind: Literal["shared", "per_role"], roles: Sequence[str], width: int, device: torch.device
    ) -> None:
        self._name = {role: _SHARED if kind == "shared" else role for role in roles}
        self._heads = {name: _zero(width, device) for name in sorted(set(self._name.values()))}
        self.parameters: dict[str, nn.Parameter] = {
            f"{name}.{key}": value for name, head in self._heads.items() for key, value in head.named_parameters()
        }
        """Trainable parameters by name."""

    def __call__(self, hidden: Tensor, mask: Tensor, roles: Sequence[str]) -> Tensor:
        """Predict the return after each response token.

        Args:
            hidden: [tokens, width]: states that predict the tokens, row by row.
            mask: [rows, longest response]: which entries the tokens are.
            roles: Of the rows.

        Returns:
            [tokens].
        """
        names = [self._name[role] for role in roles]
        used = sorted(set(names))
        if len(used) == 1:
            return self._predict(used[0], hidden)
        columns = torch.stack([self._predict(name, hidden) for name in used], dim=1)
        choice = torch.tensor([used.index(name) for name in names], device=hidden.device)
        per_token = choice[:, None].expand_as(mask)[mask]
        return columns.gather(1, per_token[:, None]).squeeze(1)

    def _predict(self, name: str, hidden: Tensor) -> Tensor:
        prediction: Tensor = self._heads[name](hidden).squeeze(1)
        return prediction


def _zero(width: int, device: torch.device) -> nn.Linear:
    head = nn.Linear(width, 1, device=device, dtype=torch.float32)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    return head

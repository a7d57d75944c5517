"""A row, the unit of training: one role's prompt and response with one scalar reward.

An episode of several agents is several independent rows. No torch here: episodes are written against this module.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from faithline.pipeline.errors import DataInvalid, Diverged

__all__ = ["Row"]


@dataclass(frozen=True)
class Row:
    """One trajectory.

    Raises:
        DataInvalid: Prompt or response is empty, or the sampler's log-probabilities are not one per response token.
        Diverged: The reward is not finite.
    """

    role: str
    prompt_ids: Sequence[int]
    response_ids: Sequence[int]
    """As sampled, the stop token included when there was one."""
    reward: float
    """Of the whole response."""
    sampled_logprobs: Sequence[float] | None = None
    """Of the response tokens, by the sampler, where it gives them: for comparison, as the objective's old
    log-probabilities are the engine's own."""
    trainable: bool = True
    """False: the row only acts (a Proposer's, say); nothing is learned from it."""

    def __post_init__(self) -> None:
        if not self.prompt_ids or not self.response_ids:
            missing = "response" if self.prompt_ids else "prompt"
            raise DataInvalid(f"a {self.role} row has an empty {missing}", next_step="leave such rows out")
        if self.sampled_logprobs is not None and len(self.sampled_logprobs) != len(self.response_ids):
            raise DataInvalid(
                f"a {self.role} row has {len(self.response_ids)} response tokens "
                f"but {len(self.sampled_logprobs)} log-probabilities",
                next_step="pass both as the sampler returned them",
            )
        if not math.isfinite(self.reward):
            raise Diverged(
                f"the reward of a {self.role} row is {self.reward}", next_step="look at what computes the reward"
            )

    @property
    def length(self) -> int:
        """Tokens of prompt and response."""
        return len(self.prompt_ids) + len(self.response_ids)

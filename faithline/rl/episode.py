"""What a training system is to the PPO core: an episode that asks a sampler and hands back rows with rewards.

An `Episode` owns prompts, parsing and rewards; the core owns weights, sampling and learning. The episode builds prompts
as token ids (`engine.chat` is the backbone's `Chat`), batches all questions of a step role by role, and puts every
draw of its own down to `seed`. `trainer.train` calls `play` once per training step and `judge` on held-out questions;
afterwards the engine holds the best weights, and `engine.export(policy, folder, base_name)` writes them.

This interface is stable: new needs are met by keywords with a default. No torch here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from faithline.rl.row import Row

__all__ = ["SCORE", "Episode", "Play", "Row", "Sample", "Sampler", "derived_seed"]

Q_contra = TypeVar("Q_contra", contravariant=True)

SCORE = "score"
"""Figure of `judge` that the selection of the best step maximises."""


@dataclass(frozen=True)
class Sample:
    """One completion."""

    ids: tuple[int, ...]
    """New tokens, the stop token included when there was one; at least one."""
    text: str
    """Without control tokens."""
    finished: bool
    """Whether a stop token ended it, rather than the limit."""
    logprobs: tuple[float, ...] | None
    """Of the tokens, where the sampler gives them; pass them on to the row."""

    def row(self, role: str, prompt: Sequence[int], reward: float, *, trainable: bool = True) -> Row:
        """Make the row of this completion."""
        return Row(role, prompt, self.ids, reward, sampled_logprobs=self.logprobs, trainable=trainable)


class Sampler(Protocol):
    """Completes prompts with the policies as they are now."""

    def sample(
        self,
        role: str,
        prompts: Sequence[Sequence[int]],
        *,
        seed: int,
        greedy: bool = False,
        max_new_tokens: int | None = None,
    ) -> list[Sample]:
        """Complete every prompt with a role's policy, in one batched call.

        Args:
            role: One of the episode's roles.
            prompts: Token ids each, at least one; the episode keeps them within `rollout.max_prompt_tokens`.
            seed: Together with a prompt's position it decides the draw; nothing else does. Calls that must not share
                draws (another role, another vote) need another seed.
            greedy: Take the likeliest token instead of sampling under `rollout`'s temperature, top_p and top_k.
            max_new_tokens: Other limit than `rollout.max_new_tokens`.

        Returns:
            One sample per prompt, in order.

        Raises:
            Diverged: The policy yields numbers that are not finite.
        """


@dataclass(frozen=True)
class Play:
    """What came of a batch of questions in training."""

    rows: list[Row]
    """Of all roles, with rewards; none for questions that gave nothing to learn from."""
    metrics: dict[str, float] = field(default_factory=dict)
    """Means over the batch, into the training curve under these names. `questions_per_response`, where there is
    one, is watched for drift."""
    records: list[dict[str, object]] = field(default_factory=list)
    """JSON-ready traces for the run's log: they are reported, not kept."""


class Episode(Protocol[Q_contra]):
    """A training system."""

    @property
    def roles(self) -> Sequence[str]:
        """All roles that sample, trained or not."""

    @property
    def best_reward(self) -> float:
        """Reward that no row can exceed (`math.inf` if there is none): rows that all have it are no flat reward."""

    def play(self, questions: Sequence[Q_contra], sampler: Sampler, *, seed: int) -> Play:
        """Act on a batch of training questions; the same seed and weights give the same play."""

    def judge(self, questions: Sequence[Q_contra], sampler: Sampler, *, seed: int) -> dict[str, float]:
        """Measure the policies on held-out questions; `SCORE` is what selection maximises."""


def derived_seed(seed: int, *purpose: str | int) -> int:
    """Seed of 31 bits for one use: another one for every purpose."""
    digest = hashlib.sha256("|".join(map(str, (seed, *purpose))).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1

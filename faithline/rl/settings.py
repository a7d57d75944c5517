"""Settings of the PPO core; values come from params.yaml only (key `ppo` of a training system).

Every point where a paper, its released code and Faithline differ is a setting here, so a run's record says which one
it used. What one machine makes of the objective (engine, token budgets) stands beside what defines it.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

__all__ = [
    "Actor",
    "Checkpoints",
    "Clip",
    "Critic",
    "Health",
    "Kl",
    "Lora",
    "Ppo",
    "Rollout",
    "Selection",
]

Count = Annotated[int, msgspec.Meta(ge=1)]
Whole = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[float, msgspec.Meta(gt=0.0)]
NotNegative = Annotated[float, msgspec.Meta(ge=0.0)]
Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]


class Lora(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Shape of adapters that start fresh; one that continues a warm start keeps its own.

    There is no dropout: it would make the ratio of new to old probabilities differ from 1 before any update.
    """

    rank: Count
    alpha: Count
    """Scale of the update: alpha / rank."""
    target_modules: Annotated[list[str], msgspec.Meta(min_length=1)]
    """Names of the linear layers that get an update."""


class Rollout(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How trajectories are sampled."""

    temperature: Positive
    """Sampling temperature; probabilities of the objective are at this temperature too (paper: 0.6, release: 1.0)."""
    top_p: Annotated[float, msgspec.Meta(gt=0.0, le=1.0)]
    """Share of the probability mass to sample from; 1 = all."""
    top_k: Whole
    """Likeliest tokens to sample from; 0 = all."""
    max_prompt_tokens: Count
    """Longer prompts lose documents, never questions."""
    max_new_tokens: Count
    batch_tokens: Count
    """Tokens decoded together, prompts and new ones with padding: memory against speed."""


class Actor(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the policy is optimised (AdamW)."""

    learning_rate: Positive
    scheduler: Literal["constant", "linear", "cosine"]
    """Learning rate after the warm-up."""
    warmup_steps: Whole
    """Training steps with rising learning rate."""
    weight_decay: NotNegative
    max_grad_norm: Positive
    """Gradients longer than this are scaled down to it, per adapter."""


class Critic(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What predicts the return, and how it is optimised (AdamW)."""

    model: Literal["heads", "separate"]
    """heads: linear heads on the policy's last hidden state. separate: a value model of its own, an adapter on the same
    frozen backbone (full tuning: a second copy of it) under the heads."""
    heads: Literal["shared", "per_role"]
    """One head for all roles (MARCH: one critic), or one per role."""
    train_features: bool
    """Let the value loss reach the weights under the heads; always on for a separate model."""
    learning_rate: Positive
    scheduler: Literal["constant", "linear", "cosine"]
    warmup_steps: Whole
    """Training steps with rising learning rate (paper's reading of "critic warm-up")."""
    only_steps: Whole
    """Steps at the start that train the critic alone (release: 10)."""
    weight_decay: NotNegative
    max_grad_norm: Positive
    coefficient: Positive
    """Weight of the value loss beside the policy loss; it matters where both reach the same weights."""

    def __post_init__(self) -> None:
        """Refuse a separate model that would never learn."""
        if self.model == "separate" and not self.train_features:
            raise ValueError("a separate value model needs train_features: true")


class Kl(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The pull towards the reference policy."""

    where: Literal["reward", "loss"]
    """reward: a penalty on every token's reward (release). loss: a term of the policy loss (paper)."""
    estimator: Literal["k1", "k2", "k3"]
    """Per token, with d = log p - log p_reference. k1: d. k2: d²/2. k3: exp(-d) - 1 + d (low variance)."""
    controller: Literal["fixed", "adaptive"]
    """adaptive: the coefficient follows the measured divergence towards `target`."""
    coefficient: NotNegative
    """Weight of the divergence; where the adaptive controller starts."""
    target: Positive
    """Divergence that an adaptive controller aims at: per row, summed over its tokens."""
    horizon: Positive
    """Rows over which an adaptive controller may change the coefficient by a factor of about 1.2."""
    floor: NotNegative
    """An adaptive coefficient never falls below this."""

    def __post_init__(self) -> None:
        """Refuse what would not do what it says."""
        if self.where == "loss" and self.estimator == "k1":
            raise ValueError("estimator k1 in the loss has an expected gradient of zero: use k2 or k3")
        if self.controller == "adaptive" and self.coefficient < self.floor:
            raise ValueError("an adaptive controller cannot start below its floor")


class Clip(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Limits of one update."""

    low: Annotated[float, msgspec.Meta(gt=0.0, lt=1.0)]
    """The ratio of new to old probability counts down to 1 - low."""
    high: Positive
    """The ratio counts up to 1 + high."""
    dual: Annotated[float, msgspec.Meta(gt=1.0)]
    """With a negative advantage the loss counts up to this ratio."""
    value: Positive
    """A predicted value counts as far as this from the old one."""


class Selection(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the step to keep is chosen: the best on held-out questions, an earlier one of equals."""

    every: Count
    """Steps between two measurements; step 0 and the last are always measured."""


class Checkpoints(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a killed run continues from."""

    every: Count
    """Steps between two checkpoints."""
    keep: Annotated[int, msgspec.Meta(ge=2)]
    """Newest checkpoints that stay; two at least, as the newest may prove corrupt."""


class Health(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """When a training counts as diverged: a limit exceeded in `patience` steps running.

    Numbers that are not finite count at once.
    """

    patience: Count
    max_kl: Positive
    """Mean divergence from the reference per row, summed over its tokens."""
    flat_steps: Count
    """Steps running in which all rows have one and the same reward, other than the best there is: nothing to learn."""
    min_entropy: NotNegative
    """Mean entropy of the policy per token, in nats."""
    repeated_share: Share
    """A response is degenerate if at least this share of its three-token runs repeats an earlier one."""
    min_tokens: Count
    """Shorter responses are never degenerate."""
    max_degenerate: Share
    """Share of degenerate responses in a step."""
    baseline_steps: Count
    """Steps whose mean number of questions per response is what later ones are held against."""
    min_questions_share: Share
    """Questions per response, of that baseline: saying less is how a checker is escaped."""


class Ppo(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Key `ppo` of a training system."""

    device: Literal["auto", "cpu", "cuda"]
    dtype: Literal["auto", "float32", "bfloat16"]
    """Number type of the forward pass; `auto` is bfloat16 on a GPU that computes it, float32 elsewhere. Trained weights
    are always float32."""
    tuning: Literal["lora", "full"]
    """lora: adapters on the frozen backbone. full: all weights."""
    adapters: Literal["shared", "per_role"]
    """One policy for all roles, or an adapter with its own optimiser per role."""
    lora: Lora
    trained_roles: Annotated[list[str], msgspec.Meta(min_length=1)]
    """Roles whose rows are learned from; the others only act."""
    reference: Literal["base", "initial"]
    """Policy that the divergence is measured from: the backbone, or the policy that training starts with."""
    steps: Count
    """Training steps."""
    batch_questions: Count
    """Questions per step."""
    rollout: Rollout
    epochs: Count
    """Passes over a step's rows."""
    minibatch_rows: Count
    """Rows per optimiser step, drawn from all roles together."""
    micro_tokens: Count
    """Tokens per forward and backward pass, with padding: memory alone, the gradient is the whole mini-batch's."""
    gradient_checkpointing: bool
    """Recompute activations in the backward pass: a third more work for a fraction of the memory."""
    gamma: Annotated[float, msgspec.Meta(gt=0.0, le=1.0)]
    """Discount per token."""
    lam: Share
    """Of generalised advantage estimation: 1 = the whole return, 0 = one step."""
    whitening: Literal["joint", "per_role"]
    """Advantages get mean 0 and variance 1 over all rows of a step, or over the rows of each role."""
    loss_mean: Literal["token", "row"]
    """The loss is the mean over tokens, or over rows of the mean over a row's tokens."""
    entropy_coefficient: NotNegative
    """Bonus on the policy's entropy."""
    actor: Actor
    critic: Critic
    kl: Kl
    clip: Clip
    selection: Selection
    checkpoints: Checkpoints
    health: Health

    def __post_init__(self) -> None:
        """Refuse combinations that no engine can run."""
        if self.tuning == "full" and self.adapters == "per_role":
            raise ValueError("adapters: per_role needs tuning: lora")
        if len(set(self.trained_roles)) != len(self.trained_roles):
            raise ValueError("trained_roles names a role twice")
        if self.critic.only_steps >= self.steps:
            raise ValueError("critic.only_steps leaves no step that trains the policy")
        if max(self.actor.warmup_steps, self.critic.warmup_steps) > self.steps:
            raise ValueError("a learning-rate warm-up is longer than the training")

"""One optimiser step of the local engine: gradients of a mini-batch, gathered micro-batch by micro-batch.

Every micro-batch adds its share of the mini-batch's loss, so the gradient does not depend on how rows were packed. A
policy's loss is the mean over its own rows; the value loss is the mean over all rows.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from faithline.rl import objective
from faithline.rl.forward import Outputs, forward, hidden_states
from faithline.rl.network import CRITIC, VALUE, Network
from faithline.rl.objective import Scale
from faithline.rl.optimiser import Optimiser
from faithline.rl.row import Row
from faithline.rl.rows import Indices, Inputs, to_inputs
from faithline.rl.settings import Ppo
from faithline.rl.values import ValueHeads

__all__ = ["Batch", "Learner"]


@dataclass(frozen=True)
class Batch:
    """Rows and what is known of them before the update; arrays are [rows, longest response]."""

    rows: Sequence[Row]
    mask: Tensor
    old: Tensor
    reference: Tensor
    values: Tensor
    kl: Tensor
    advantages: Tensor
    returns: Tensor

    def part(self, indices: Indices, device: torch.device) -> Batch:
        """Some of the rows, no wider than their longest response."""
        rows = [self.rows[index] for index in indices]
        width = max(len(row.response_ids) for row in rows)
        names = [field.name for field in dataclasses.fields(self) if field.name != "rows"]
        arrays = {name: getattr(self, name)[indices, :width].to(device) for name in names}
        return Batch(rows=rows, **arrays)


class Learner:
    """The weights, their optimisers, and the loss that joins them."""

    def __init__(self, network: Network, heads: ValueHeads, optimisers: Mapping[str, Optimiser], settings: Ppo) -> None:
        self.optimisers = optimisers
        """By policy, and the critic's."""
        self._network = network
        self._heads = heads
        self._settings = settings

    def step(
        self, batch: Batch, parts: Sequence[tuple[str, Indices]], step: int, coefficient: float
    ) -> dict[str, float]:
        """Take one optimiser step.

        Args:
            batch: Rows of the training step.
            parts: The mini-batch, cut into micro-batches of one policy each.
            step: The training step, from 1.
            coefficient: Of the divergence.

        Returns:
            Metrics of the mini-batch: losses, clip fractions, and the length of each gradient.
        """
        kind = self._settings.loss_mean
        indices = {
            policy: np.concatenate([i for p, i in parts if p == policy]) for policy in sorted({p for p, _ in parts})
        }
        scales = {policy: Scale.of(batch.mask[own], kind) for policy, own in indices.items()}
        scales[CRITIC] = Scale.of(batch.mask[np.concatenate(list(indices.values()))], kind)
        critic_only = step <= self._settings.critic.only_steps
        found: defaultdict[str, float] = defaultdict(float)
        for policy, own in parts:
            part = batch.part(own, self._network.base.device)
            shares = {} if critic_only else self._learn_policy(policy, part, scales, coefficient)
            if critic_only or self._settings.critic.model == "separate":
                shares |= self._learn_values(policy, part, scales[CRITIC])
            for name, share in shares.items():
                found[name] += share
        stepping = [self.optimisers[name] for name in ([CRITIC] if critic_only else [*indices, CRITIC])]
        for optimiser in stepping:
            found[f"grad_norm/{optimiser.name}"] = optimiser.clip(step)
            found[f"learning_rate/{optimiser.name}"] = optimiser.rate(step)
        for optimiser in stepping:
            optimiser.step(step)
        return dict(found)

    def _learn_policy(
        self, policy: str, part: Batch, scales: Mapping[str, Scale], coefficient: float
    ) -> dict[str, float]:
        """Gather the gradient of a policy, and of value heads on its hidden states."""
        settings, network = self._settings, self._network
        inputs = to_inputs(part.rows, network.base.device)
        model = network.use(policy)
        with network.recomputing(model):
            with network.autocast():
                with_entropy = settings.entropy_coefficient > 0
                outputs = forward(model, inputs, settings.rollout.temperature, with_entropy=with_entropy)
            loss, found = self._policy_loss(outputs, inputs, part, scales[policy], coefficient)
            share = int(part.mask.sum()) / scales[CRITIC].tokens
            found = {name: value * share for name, value in found.items()} | {"policy_loss": float(loss.detach())}
            if settings.critic.model == "heads":
                hidden = outputs.hidden if settings.critic.train_features else outputs.hidden.detach()
                value_loss, more = self._value_loss(hidden, inputs, part, scales[CRITIC])
                loss, found = loss + settings.critic.coefficient * value_loss, found | more
            torch.autograd.backward(loss)
        return found

    def _policy_loss(
        self, outputs: Outputs, inputs: Inputs, part: Batch, scale: Scale, coefficient: float
    ) -> tuple[Tensor, dict[str, float]]:
        settings, mask = self._settings, part.mask
        new = inputs.scatter(outputs.logprobs)
        loss, found = objective.policy_loss(part.old, new, part.advantages, mask, clip=settings.clip, scale=scale)
        if settings.kl.where == "loss":
            divergence = objective.mean(objective.kl_per_token(new, part.reference, settings.kl), mask, scale)
            loss = loss + coefficient * divergence
        if outputs.entropy is not None:
            spread = objective.mean(inputs.scatter(outputs.entropy), mask, scale)
            loss = loss - settings.entropy_coefficient * spread
        return loss, found

    def _learn_values(self, policy: str, part: Batch, scale: Scale) -> dict[str, float]:
        """Gather the critic's gradient alone: of a separate value model, or of the heads while the policy rests."""
        separate, network = self._settings.critic.model == "separate", self._network
        inputs = to_inputs(part.rows, network.base.device)
        model = network.use(VALUE if separate else policy)
        with network.recomputing(model):
            with network.autocast(), torch.set_grad_enabled(separate):
                hidden = hidden_states(model, inputs)
            loss, found = self._value_loss(hidden, inputs, part, scale)
            torch.autograd.backward(self._settings.critic.coefficient * loss)
        return found

    def _value_loss(self, hidden: Tensor, inputs: Inputs, part: Batch, scale: Scale) -> tuple[Tensor, dict[str, float]]:
        predicted = inputs.scatter(self._heads(hidden, part.mask, [row.role for row in part.rows]))
        clip = self._settings.clip
        loss, clipped = objective.value_loss(predicted, part.returns, part.values, part.mask, clip=clip, scale=scale)
        share = int(part.mask.sum()) / scale.tokens
        return loss, {"value_loss": float(loss.detach()), "value_clip_fraction": clipped * share}

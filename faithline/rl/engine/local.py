"""The local engine: PPO in one process, on CPU or one GPU.

A step is `sample` (once per role that acts), then `update`, which scores the rows (old and reference log-probabilities,
values), turns rewards into advantages, and learns from them in mini-batches. Old probabilities are those of the
training forward pass, not the sampler's: the ratio is 1 before the first update whatever the sampler's arithmetic.
Every draw depends on seed and step alone; together with `state` a restarted run goes on bit by bit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from faithline.lm.backbone import write_base
from faithline.lm.chat import Chat
from faithline.lm.generate import Request, Sampling, generate
from faithline.pipeline.errors import DataInvalid
from faithline.rl import objective
from faithline.rl.engine.learner import Batch, Learner
from faithline.rl.engine.metrics import describe
from faithline.rl.episode import Sample
from faithline.rl.forward import forward, hidden_states
from faithline.rl.network import CRITIC, VALUE, Network, build, copy_into, policy_names, width
from faithline.rl.optimiser import Optimiser
from faithline.rl.row import Row
from faithline.rl.rows import Indices, group_by, minibatches, pack, response_mask, to_inputs
from faithline.rl.settings import Ppo
from faithline.rl.values import ValueHeads

__all__ = ["LocalEngine", "Scores", "State"]


@dataclass(frozen=True)
class Scores:
    """What the weights before an update say about some rows, [rows, longest response]."""

    old: Tensor
    """Log-probabilities under the policy, at the sampling temperature."""
    reference: Tensor
    values: Tensor
    entropy: Tensor


@dataclass(frozen=True)
class State:
    """Everything that changes in training."""

    tensors: Mapping[str, Mapping[str, Tensor]]
    """By file (safetensors) and name."""
    coefficient: float
    """Of the KL controller."""


class LocalEngine:
    """Policies, critic and their optimisers; a `Sampler`."""

    def __init__(
        self, folder: Path, settings: Ppo, *, roles: Sequence[str], init: Mapping[str, Path], seed: int
    ) -> None:
        """Load the backbone and put what is trained on it.

        Args:
            folder: Backbone.
            settings: All of PPO's.
            roles: All roles that act.
            init: Policy name (`policy` when shared, else the role) → adapter folder to continue; others start fresh.
            seed: Decides fresh weights and the order of rows.

        Raises:
            ConfigError: Settings that do not fit together or the backbone.
            EnvironmentMismatch: The backbone is incomplete, or an adapter belongs to another one.
        """
        self.settings = settings
        self.folder = folder
        self.init = dict(init)
        self.seed = seed
        self.policies = policy_names(settings, roles)
        """Role → name of its policy."""
        self.network: Network = build(folder, settings, sorted(set(self.policies.values())), init, seed)
        base = self.network.base
        self.chat = Chat(base.tokenizer)
        self.heads = ValueHeads(settings.critic.heads, roles, width(base.model), base.device)
        self._controller = objective.kl_controller(settings.kl)
        trained = sorted({self.policies[role] for role in settings.trained_roles})
        weights = self.network.trainable
        optimisers = {name: Optimiser(name, weights[name], settings.actor, settings.steps) for name in trained}
        value_weights = weights.get(VALUE, {}) | self.heads.parameters
        optimisers[CRITIC] = Optimiser(CRITIC, value_weights, settings.critic, settings.steps)
        self._learner = Learner(self.network, self.heads, optimisers, settings)

    def sample(
        self,
        role: str,
        prompts: Sequence[Sequence[int]],
        *,
        seed: int,
        greedy: bool = False,
        max_new_tokens: int | None = None,
    ) -> list[Sample]:
        """Complete prompts with a role's policy as it is now; see `Sampler`."""
        chosen = self.settings.rollout
        limit = chosen.max_new_tokens if max_new_tokens is None else max_new_tokens
        requests = [Request(ids, limit, seed=(seed << 32) + place) for place, ids in enumerate(prompts)]
        sampling = Sampling(temperature=chosen.temperature, top_p=chosen.top_p, top_k=chosen.top_k)
        if greedy:
            sampling = Sampling(temperature=0.0, top_p=1.0)
        model = self.network.use(self.policies[role])
        with self.network.autocast():
            completions = generate(
                model, requests, sampling=sampling, stop_ids=self.chat.stop_ids, batch_tokens=chosen.batch_tokens
            )
        return [
            Sample(tuple(one.ids), self.chat.decode(one.ids), one.stopped, None if greedy else tuple(one.logprobs))
            for one in completions
        ]

    def update(self, rows: Sequence[Row], step: int) -> dict[str, float]:
        """Learn from the rows of one training step.

        Args:
            rows: All roles' rows; those that are not trainable, or of a role that is not trained, are left out.
            step: From 1; decides learning rates and the order of rows.

        Returns:
            Metrics, see `metrics`.

        Raises:
            DataInvalid: There is nothing to learn from.
            Diverged: A loss or gradient is not finite; the weights are those of the last optimiser step before.
        """
        learned = self.learnable(rows)
        scores = self.score(learned)
        batch = self.prepare(learned, scores)
        found = self.learn(batch, step)
        found |= describe(learned, scores, batch)
        found["kl_coefficient"] = self._controller.coefficient
        self._controller.update(found["kl"], len(learned))
        return dict(sorted(found.items()))

    def learnable(self, rows: Sequence[Row]) -> list[Row]:
        """The rows that an update learns from.

        Raises:
            DataInvalid: There is none.
        """
        trained = set(self.settings.trained_roles)
        learned = [row for row in rows if row.trainable and row.role in trained]
        if not learned:
            raise DataInvalid(
                f"none of {len(rows)} rows can be learned from",
                where="PPO step",
                next_step="look at why no trained role has a row: prompts over rollout.max_prompt_tokens, or no data",
            )
        return learned

    @torch.no_grad()
    def score(self, rows: Sequence[Row]) -> Scores:
        """Compute old and reference log-probabilities, values and entropy."""
        mask = response_mask(rows)
        found = Scores(*(torch.zeros(mask.shape) for _ in range(4)))
        temperature, critic = self.settings.rollout.temperature, self.settings.critic
        for policy, indices in self.batches(rows, range(len(rows))):
            chosen = [rows[index] for index in indices]
            inputs = to_inputs(chosen, self.network.base.device)
            with self.network.autocast():
                now = forward(self.network.use(policy), inputs, temperature, with_entropy=True)
                hidden = hidden_states(self.network.use(VALUE), inputs) if critic.model == "separate" else now.hidden
                reference = self.network.use(self.network.reference_of(policy))
                then = forward(reference, inputs, temperature, with_entropy=False)
            values = self.heads(hidden, inputs.mask, [row.role for row in chosen])
            entropy = now.entropy if now.entropy is not None else torch.zeros_like(now.logprobs)
            parts = (now.logprobs, then.logprobs, values, entropy)
            for whole, part in zip((found.old, found.reference, found.values, found.entropy), parts, strict=True):
                whole[indices, : inputs.mask.shape[1]] = inputs.scatter(part).cpu()
        return found

    def prepare(self, rows: Sequence[Row], scores: Scores) -> Batch:
        """Turn rewards into advantages and returns."""
        settings, mask = self.settings, response_mask(rows)
        kl = objective.kl_per_token(scores.old, scores.reference, settings.kl) * mask
        scalar = torch.tensor([row.reward for row in rows], dtype=torch.float32)
        rewards = objective.token_rewards(scalar, mask, kl, settings.kl, self._controller.coefficient)
        roles = [row.role for row in rows]
        worth = objective.advantages(
            rewards,
            scores.values,
            mask,
            roles,
            gamma=settings.gamma,
            lam=settings.lam,
            whitening=settings.whitening,
        )
        return Batch(
            rows=rows,
            mask=mask,
            old=scores.old,
            reference=scores.reference,
            values=scores.values,
            kl=kl,
            advantages=worth.advantages,
            returns=worth.returns,
        )

    def learn(self, batch: Batch, step: int) -> dict[str, float]:
        """Take the optimiser steps of one training step; metrics are means over them."""
        found: defaultdict[str, list[float]] = defaultdict(list)
        for epoch in range(self.settings.epochs):
            random = np.random.default_rng([self.seed, step, epoch])
            for indices in minibatches(len(batch.rows), self.settings.minibatch_rows, random):
                parts = self.batches(batch.rows, indices)
                for name, value in self._learner.step(batch, parts, step, self._controller.coefficient).items():
                    found[name].append(value)
        return {name: float(np.mean(values)) for name, values in found.items()}

    def batches(self, rows: Sequence[Row], chosen: Sequence[int] | Indices) -> list[tuple[str, Indices]]:
        """Cut rows into micro-batches of one policy each: (policy, positions in `rows`)."""
        places = np.asarray(chosen, dtype=np.int64)
        parts = []
        for policy, members in group_by([self.policies[rows[place].role] for place in places]).items():
            own = places[members]
            packs = pack([rows[place].length for place in own], self.settings.micro_tokens)
            parts += [(policy, own[packed]) for packed in packs]
        return parts

    def state(self) -> State:
        """Everything that changes in training, by file; the policies' files are as PEFT or transformers names them."""
        tensors: dict[str, Mapping[str, Tensor]] = {
            f"policies/{name}/{self.network.weights_file}": parameters
            for name, parameters in self.network.trainable.items()
        }
        tensors["values.safetensors"] = self.heads.parameters
        for name, optimiser in self._learner.optimisers.items():
            tensors[f"optimisers/{name}.safetensors"] = optimiser.state()
        return State(tensors, self._controller.coefficient)

    def restore(self, state: State) -> None:
        """Continue from a saved state.

        Raises:
            ConfigError: It was saved under other settings.
        """
        for name in self.network.trainable:
            self.network.restore(name, state.tensors[f"policies/{name}/{self.network.weights_file}"])
        copy_into(self.heads.parameters, state.tensors["values.safetensors"], "values")
        for name, optimiser in self._learner.optimisers.items():
            optimiser.restore(state.tensors[f"optimisers/{name}.safetensors"])
        self._controller.restore(state.coefficient)

    def weights(self) -> dict[str, dict[str, Tensor]]:
        """A copy of every policy's trainable weights, on the CPU."""
        return {
            name: {key: value.detach().to("cpu", copy=True) for key, value in self.network.trainable[name].items()}
            for name in sorted(set(self.policies.values()))
        }

    def take(self, weights: Mapping[str, Mapping[str, Tensor]]) -> None:
        """Put back what `weights` gave."""
        for name, tensors in weights.items():
            self.network.restore(name, tensors)

    def export(self, policy: str, folder: Path, base_name: str) -> None:
        """Write a policy so that PEFT or transformers loads it, with the note which backbone it belongs to.

        Args:
            policy: Name, see `policies`.
            folder: Existing folder.
            base_name: How an adapter names its backbone: no path of this machine.
        """
        self.network.export(policy, folder, base_name)
        if self.settings.tuning == "lora":
            write_base(folder, self.folder)

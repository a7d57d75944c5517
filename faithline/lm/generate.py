"""Batched generation with a plain transformers model.

Requests are sorted by length, packed into micro-batches that respect a budget of tokens (rows x (longest prompt + new
tokens)), left-padded and decoded together; a row leaves its batch soon after it has ended. The tokens that all prompts
begin with (template and instruction) run through the model once per call, and their cache is shared.

What a row yields does not depend on the rows beside it: greedy choices up to float noise, sampled ones too, as each
request draws from its own random stream. Logits are computed for the last position only and must be finite.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from faithline.lm.cache import can_repeat, new_cache, repeat
from faithline.pipeline.errors import ConfigError, Diverged

if TYPE_CHECKING:
    from transformers import PreTrainedModel
    from transformers.cache_utils import DynamicCache

__all__ = ["Completion", "Request", "Sampling", "generate", "plan", "stream"]

# A shorter common beginning does not pay for the extra forward pass.
_MIN_SHARED = 16
# Dropping ended rows copies the cache of the others; done when at most this share is left.
_COMPACT_AT = 0.75


@dataclass(frozen=True)
class Request:
    """One prompt to continue."""

    ids: Sequence[int]
    """Prompt tokens, at least one."""
    max_new_tokens: int
    seed: int
    """Random stream of this request; not used by greedy decoding."""


@dataclass(frozen=True)
class Sampling:
    """How tokens are chosen."""

    temperature: float
    """0 means greedy."""
    top_p: float
    """Share of the probability mass to choose from, the likeliest tokens first; 1 means all."""
    top_k: int = 0
    """Likeliest tokens to choose from, before top_p is applied to what they hold; 0 means all."""

    def __post_init__(self) -> None:
        if self.temperature < 0 or not 0 < self.top_p <= 1 or self.top_k < 0:
            raise ConfigError(
                f"impossible sampling settings: temperature {self.temperature}, top_p {self.top_p}, top_k {self.top_k}",
                next_step="set temperature >= 0, 0 < top_p <= 1 and top_k >= 0",
            )


@dataclass(frozen=True)
class Completion:
    """What one request yielded."""

    ids: list[int]
    """New tokens, the stop token included when there was one."""
    logprobs: list[float]
    """Log-probability of each token under softmax(logits / temperature), temperature 1 for greedy;
    before top_k and top_p."""
    stopped: bool
    """Whether a stop token ended it, rather than the limit."""


def generate(
    model: PreTrainedModel,
    requests: Sequence[Request],
    *,
    sampling: Sampling,
    stop_ids: frozenset[int],
    batch_tokens: int,
) -> list[Completion]:
    """Continue every request and return the completions in input order; see `stream`."""
    done = dict(stream(model, requests, sampling=sampling, stop_ids=stop_ids, batch_tokens=batch_tokens))
    return [done[index] for index in range(len(requests))]


def stream(
    model: PreTrainedModel,
    requests: Sequence[Request],
    *,
    sampling: Sampling,
    stop_ids: frozenset[int],
    batch_tokens: int,
) -> Iterator[tuple[int, Completion]]:
    """Continue every request, yielding (input index, completion) micro-batch by micro-batch, longest prompts first.

    Args:
        model: Causal language model in evaluation mode.
        requests: What to continue.
        sampling: How to choose tokens.
        stop_ids: Tokens that end a completion.
        batch_tokens: Most tokens, prompts and new ones with padding, that a micro-batch may hold; a longer single
            request runs alone.

    Raises:
        Diverged: The model yields logits that are not finite.
    """
    prefix = new_cache(model.config, room=0)
    shared = _common_prefix([request.ids for request in requests]) if can_repeat(prefix) else 0
    if shared:
        ids = torch.tensor([list(requests[0].ids[:shared])], device=model.device)
        with torch.inference_mode():
            model(input_ids=ids, past_key_values=prefix, use_cache=True, logits_to_keep=1)
    for indices in plan(requests, batch_tokens):
        with torch.inference_mode():
            batch = _Batch(model, [requests[index] for index in indices], prefix, shared)
            completions = batch.run(sampling, stop_ids)
        yield from zip(indices, completions, strict=True)


def plan(requests: Sequence[Request], batch_tokens: int) -> list[list[int]]:
    """Pack requests into micro-batches: lists of indices, longest prompts first.

    Every batch of more than one row has rows x (longest prompt + most new tokens) <= `batch_tokens`.
    """
    order = sorted(range(len(requests)), key=lambda index: (-len(requests[index].ids), index))
    batches: list[list[int]] = []
    longest = most_new = 0
    for index in order:
        length, new = len(requests[index].ids), requests[index].max_new_tokens
        if not batches or (len(batches[-1]) + 1) * (longest + max(most_new, new)) > batch_tokens:
            batches.append([])
            longest, most_new = length, 0
        batches[-1].append(index)
        most_new = max(most_new, new)
    return batches


class _Batch:
    """Rows decoded together. `rows` are the ones still in the cache, by their place in the batch."""

    def __init__(self, model: PreTrainedModel, requests: Sequence[Request], prefix: DynamicCache, shared: int) -> None:
        self._model = model
        self._requests = requests
        device = model.device
        self._limits = torch.tensor([request.max_new_tokens for request in requests], device=device)
        self._steps = max(request.max_new_tokens for request in requests)
        width = max(len(request.ids) for request in requests) - shared
        ids = np.zeros((len(requests), width), dtype=np.int64)
        mask = np.ones((len(requests), shared + width + self._steps), dtype=bool)
        for row, request in enumerate(requests):
            own = request.ids[shared:]
            ids[row, width - len(own) :] = own
            mask[row, shared : shared + width - len(own)] = False
        self._next = torch.from_numpy(ids).to(device)
        self._mask = torch.from_numpy(mask).to(device)
        self._positions = (self._mask.cumsum(1) - 1).clamp(min=0)
        self._cache = new_cache(model.config, room=self._steps + (width if shared else 0))
        self._length = shared
        repeat(prefix, self._cache, len(requests))

    def run(self, sampling: Sampling, stop_ids: frozenset[int]) -> list[Completion]:
        """Decode until every row has ended."""
        size, device = len(self._requests), self._mask.device
        tokens = torch.zeros((size, self._steps), dtype=torch.long, device=device)
        logprobs = torch.zeros((size, self._steps), device=device)
        stops = torch.tensor(sorted(stop_ids), dtype=torch.long, device=device)
        ends = torch.zeros(size, dtype=torch.long, device=device)
        draws = self._draws(sampling)
        rows = torch.arange(size, device=device)
        for step in range(self._steps):
            logits = self._forward()
            chosen, logprob = _choose(logits, sampling, None if draws is None else draws[rows, step])
            tokens[rows, step], logprobs[rows, step] = chosen, logprob
            ended = (torch.isin(chosen, stops) | (self._limits[rows] == step + 1)) & (ends[rows] == 0)
            ends[rows[ended]] = step + 1
            live = ends[rows] == 0
            count = int(live.sum())
            if not count:
                break
            if count <= _COMPACT_AT * len(rows):
                kept = live.nonzero().squeeze(1)
                rows, chosen = rows[kept], chosen[kept]
                self._keep(kept)
            self._next = chosen[:, None]
        stopped = torch.isin(tokens.gather(1, ends[:, None] - 1).squeeze(1), stops).tolist()
        return [
            Completion(ids=ids[:end], logprobs=probs[:end], stopped=stop)
            for ids, probs, end, stop in zip(tokens.tolist(), logprobs.tolist(), ends.tolist(), stopped, strict=True)
        ]

    def _forward(self) -> torch.Tensor:
        """Feed the tokens in `_next`; logits after the last of them, (rows, vocabulary), float32."""
        end = self._length + self._next.shape[1]
        output = self._model(
            input_ids=self._next,
            attention_mask=self._mask[:, :end],
            position_ids=self._positions[:, self._length : end],
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        self._length = end
        logits: torch.Tensor = output.logits[:, -1].float()
        if not torch.isfinite(logits).all():
            raise Diverged(
                "the model yields logits that are not finite",
                where=f"generation, after {end} tokens",
                next_step="the backbone or its adapter is broken: train the adapter again with a lower learning rate",
            )
        return logits

    def _keep(self, kept: torch.Tensor) -> None:
        self._cache.batch_select_indices(kept)
        self._mask, self._positions = self._mask[kept], self._positions[kept]

    def _draws(self, sampling: Sampling) -> torch.Tensor | None:
        """Uniform numbers in [0, 1), (rows, steps): row by row from the request's own stream."""
        if sampling.temperature == 0:
            return None
        draws = [np.random.default_rng(request.seed).random(self._steps) for request in self._requests]
        return torch.from_numpy(np.stack(draws)).to(self._mask.device)


def _choose(logits: torch.Tensor, sampling: Sampling, draws: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
    """One token per row and its log-probability; greedy without draws, else by the inverse distribution function."""
    if draws is None:
        chosen = logits.argmax(-1)
        logprobs = logits.log_softmax(-1)
    else:
        logprobs = (logits / sampling.temperature).log_softmax(-1)
        chosen = _draw(logprobs, sampling, draws)
    return chosen, logprobs.gather(1, chosen[:, None]).squeeze(1)


def _draw(logprobs: torch.Tensor, sampling: Sampling, draws: torch.Tensor) -> torch.Tensor:
    """One token per row; tokens are ranked only where the settings ask for it, as sorting a vocabulary is slow."""
    limit = min(sampling.top_k or logprobs.shape[1], logprobs.shape[1])
    if sampling.top_p == 1 and limit == logprobs.shape[1]:
        mass = logprobs.double().exp().cumsum(-1)
        place = torch.searchsorted(mass, draws[:, None] * mass[:, -1:], right=True)
        return place.clamp(max=limit - 1).squeeze(1)
    if limit < logprobs.shape[1]:
        likely, order = logprobs.topk(limit, dim=-1)
    else:
        likely, order = logprobs.sort(dim=-1, descending=True, stable=True)
    mass = likely.double().exp().cumsum(-1)
    # Tokens before which less than top_p has been gathered, hence always the first.
    kept = (mass - likely.double().exp() < sampling.top_p * mass[:, -1:]).sum(-1, keepdim=True)
    goal = draws[:, None] * mass.gather(1, kept - 1)
    place = torch.minimum(torch.searchsorted(mass, goal, right=True), kept - 1)
    return order.gather(1, place).squeeze(1)


def _common_prefix(prompts: Sequence[Sequence[int]]) -> int:
    """Length of the beginning that all prompts share and that leaves each at least one token; 0 when it is short."""
    if len(prompts) < 2:
        return 0
    # The lexicographic extremes are the two that part first.
    low, high = min(prompts, key=list), max(prompts, key=list)
    shared = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(low, high, strict=False)))
    length = min(shared, min(len(prompt) for prompt in prompts) - 1)
    return length if length >= _MIN_SHARED else 0

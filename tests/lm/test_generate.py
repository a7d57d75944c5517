"""Batched generation: a row's tokens do not depend on its neighbours, and agree with transformers' own generation."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, PreTrainedModel

from faithline.lm import backbone
from faithline.lm import generate as module
from faithline.lm.generate import Completion, Request, Sampling, generate, plan, stream
from faithline.pipeline.errors import ConfigError, Diverged

GREEDY = Sampling(temperature=0.0, top_p=1.0)
NEVER: frozenset[int] = frozenset()


@pytest.fixture(scope="module")
def model(tiny_backbone: Path) -> PreTrainedModel:
    return backbone.load(tiny_backbone, device="cpu", dtype="float32").model


def requests(lengths: Sequence[int], *, prefix: int = 0, new: int = 12, seed: int = 3) -> list[Request]:
    random = np.random.default_rng(seed)
    shared = random.integers(3, 280, prefix).tolist()
    return [
        Request(shared + random.integers(3, 280, length).tolist(), new, seed=number)
        for number, length in enumerate(lengths)
    ]


def tokens(completions: Sequence[Completion]) -> list[list[int]]:
    return [completion.ids for completion in completions]


LENGTHS = [5, 40, 1, 17, 40, 8, 23, 2]


@pytest.mark.parametrize("prefix", [0, 20])
@pytest.mark.parametrize("sampling", [GREEDY, Sampling(temperature=1.0, top_p=0.9)])
def test_neighbours_do_not_matter(model: PreTrainedModel, prefix: int, sampling: Sampling) -> None:
    asked = requests(LENGTHS, prefix=prefix)
    # Some rows end early, so batches shrink while they are decoded.
    stop = frozenset(range(0, 280, 9))
    together = generate(model, asked, sampling=sampling, stop_ids=stop, batch_tokens=10_000)
    pairs = generate(model, asked, sampling=sampling, stop_ids=stop, batch_tokens=110)
    alone = [generate(model, [r], sampling=sampling, stop_ids=stop, batch_tokens=1)[0] for r in asked]
    backwards = generate(model, asked[::-1], sampling=sampling, stop_ids=stop, batch_tokens=10_000)[::-1]
    assert len({len(ids) for ids in tokens(alone)}) > 2
    assert tokens(together) == tokens(pairs) == tokens(alone) == tokens(backwards)
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(one.logprobs, other.logprobs, atol=1e-3)


def test_greedy_is_what_transformers_generates(model: PreTrainedModel, tiny_backbone: Path) -> None:
    plain = AutoModelForCausalLM.from_pretrained(tiny_backbone, dtype=torch.float32, attn_implementation="eager")
    asked = requests(LENGTHS, prefix=20)
    ours = generate(model, asked, sampling=GREEDY, stop_ids=frozenset({2}), batch_tokens=10_000)
    for request, completion in zip(asked, ours, strict=True):
        ids = torch.tensor([list(request.ids)])
        theirs = plain.generate(ids, max_new_tokens=12, do_sample=False, attention_mask=torch.ones_like(ids))
        assert completion.ids == theirs[0, ids.shape[1] :].tolist()


def test_logprobs_are_those_of_a_plain_forward_pass(model: PreTrainedModel) -> None:
    for sampling in (GREEDY, Sampling(temperature=2.0, top_p=0.5)):
        request = requests([9], new=6)[0]
        (done,) = generate(model, [request], sampling=sampling, stop_ids=NEVER, batch_tokens=100)
        whole = torch.tensor([[*request.ids, *done.ids]])
        with torch.inference_mode():
            logits = model(whole).logits[0, len(request.ids) - 1 : -1] / (sampling.temperature or 1.0)
        expected = logits.log_softmax(-1).gather(1, torch.tensor(done.ids)[:, None]).squeeze(1)
        np.testing.assert_allclose(done.logprobs, expected.numpy(), atol=1e-4)


def test_each_row_has_its_own_limit_and_end(model: PreTrainedModel) -> None:
    free = requests([7, 7, 9], new=10)
    unlimited = tokens(generate(model, free, sampling=GREEDY, stop_ids=NEVER, batch_tokens=1000))
    asked = [Request(r.ids, limit, r.seed) for r, limit in zip(free, (1, 4, 10), strict=True)]
    done = generate(model, asked, sampling=GREEDY, stop_ids=NEVER, batch_tokens=1000)
    assert tokens(done) == [ids[:limit] for ids, limit in zip(unlimited, (1, 4, 10), strict=True)]
    assert not any(completion.stopped for completion in done)
    stop = unlimited[2][3]
    first = unlimited[2].index(stop)
    ended = generate(model, asked, sampling=GREEDY, stop_ids=frozenset({stop}), batch_tokens=1000)[2]
    assert (ended.ids, ended.stopped, len(ended.logprobs)) == (unlimited[2][: first + 1], True, first + 1)


def test_stream_yields_every_row_once_longest_first(model: PreTrainedModel) -> None:
    asked = requests(LENGTHS, new=2)
    order = [index for index, _ in stream(model, asked, sampling=GREEDY, stop_ids=NEVER, batch_tokens=60)]
    assert sorted(order) == list(range(8))
    assert order[:2] == [1, 4]
    assert generate(model, [], sampling=GREEDY, stop_ids=NEVER, batch_tokens=60) == []


def test_the_common_beginning_runs_once(model: PreTrainedModel) -> None:
    widths: list[tuple[int, ...]] = []
    hook = model.get_input_embeddings().register_forward_hook(lambda _m, given, _o: widths.append(given[0].shape))
    try:
        generate(model, requests([5, 3], prefix=20, new=1), sampling=GREEDY, stop_ids=NEVER, batch_tokens=1000)
    finally:
        hook.remove()
    assert widths == [(1, 20), (2, 5)]


def test_logits_are_computed_for_one_position(model: PreTrainedModel) -> None:
    shapes: list[tuple[int, ...]] = []
    hook = model.get_output_embeddings().register_forward_hook(lambda _m, given, _o: shapes.append(given[0].shape))
    try:
        generate(model, requests([30, 10], new=3), sampling=GREEDY, stop_ids=NEVER, batch_tokens=1000)
    finally:
        hook.remove()
    assert shapes == [(2, 1, 64)] * 3


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(1, 20)), max_size=30),
    st.integers(1, 300),
)
def test_plan_respects_the_budget(sizes: list[tuple[int, int]], budget: int) -> None:
    asked = [Request([0] * length, new, 0) for length, new in sizes]
    batches = plan(asked, budget)
    assert sorted(index for batch in batches for index in batch) == list(range(len(asked)))
    lengths = [[len(asked[index].ids) for index in batch] for batch in batches]
    flat = list(itertools.chain.from_iterable(lengths))
    assert flat == sorted(flat, reverse=True)
    costs = [
        len(batch) * (max(len(asked[i].ids) for i in batch) + max(asked[i].max_new_tokens for i in batch))
        for batch in batches
    ]
    assert all(cost <= budget or len(batch) == 1 for cost, batch in zip(costs, batches, strict=True))
    # No batch could have taken in the first row of the next one.
    for batch, after in itertools.pairwise(batches):
        more = [*batch, after[0]]
        longest, new = max(len(asked[i].ids) for i in more), max(asked[i].max_new_tokens for i in more)
        assert len(more) * (longest + new) > budget


@pytest.mark.parametrize(
    ("temperature", "top_p", "top_k"),
    [
        (1.0, 1.0, 0),
        (0.5, 1.0, 0),
        (2.0, 0.8, 0),
        (1.0, 0.3, 0),
        (1.0, 1e-9, 0),
        (1.0, 1.0, 3),
        (2.0, 0.7, 4),
        (1.0, 1.0, 1),
        (1.0, 0.8, 99),
    ],
)
def test_sampling_follows_the_distribution(temperature: float, top_p: float, top_k: int) -> None:
    logits = torch.tensor([0.0, 2.0, -1.0, 1.0, 1.5, -30.0])
    # Uniform draws on a grid make the expected counts exact up to one per token.
    count = 10_000
    draws = (torch.arange(count, dtype=torch.float64) + 0.5) / count
    chosen, logprobs = module._choose(logits.expand(count, -1), Sampling(temperature, top_p, top_k), draws)
    full = np.exp(logits.numpy().astype(np.float64) / temperature)
    full /= full.sum()
    kept, gathered = np.zeros(6), 0.0
    likeliest = np.argsort(-full)[: top_k or None]
    for token in likeliest:
        if gathered < top_p * full[likeliest].sum():
            kept[token] = full[token]
            gathered += full[token]
    kept /= kept.sum()
    assert np.abs(np.bincount(chosen.numpy(), minlength=6) - count * kept).max() <= 1.01
    np.testing.assert_allclose(logprobs.numpy(), np.log(full)[chosen.numpy()], atol=1e-5)


def test_the_largest_draw_stays_inside(model: PreTrainedModel) -> None:
    for logits in (torch.zeros(1, 7), torch.tensor([[0.0, -200.0, 3.0]])):
        chosen, _ = module._choose(logits, Sampling(1.0, 1.0), torch.tensor([np.nextafter(1.0, 0.0)]))
        assert 0 <= int(chosen) < logits.shape[1]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_logits_that_are_not_finite_end_the_run(tiny_backbone: Path, value: float) -> None:
    model = backbone.load(tiny_backbone, device="cpu", dtype="float32").model
    with torch.no_grad():
        model.model.norm.weight[0] = value
    with pytest.raises(Diverged, match="not finite"):
        generate(model, requests([4, 6]), sampling=GREEDY, stop_ids=NEVER, batch_tokens=100)


@pytest.mark.parametrize(
    ("temperature", "top_p", "top_k"), [(-1.0, 1.0, 0), (1.0, 0.0, 0), (1.0, 1.1, 0), (1.0, 1.0, -1)]
)
def test_impossible_sampling_is_refused(temperature: float, top_p: float, top_k: int) -> None:
    with pytest.raises(ConfigError, match="sampling"):
        Sampling(temperature, top_p, top_k)

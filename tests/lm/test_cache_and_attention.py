"""The in-place cache and grouped attention give what transformers' own give."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, LlamaConfig, MistralConfig
from transformers.cache_utils import DynamicLayer

from faithline.lm import attention, cache, generate


@given(st.lists(st.integers(1, 4) | st.lists(st.integers(0, 2), min_size=1, max_size=3), max_size=8), st.integers(0, 6))
def test_layer_behaves_as_the_plain_one(steps: list[int | list[int]], room: int) -> None:
    ours, plain = cache.RoomyLayer(room), DynamicLayer()
    rows = 3
    for number, step in enumerate(steps):
        if isinstance(step, int):
            states = torch.arange(rows * 2 * step * 4, dtype=torch.float32).reshape(rows, 2, step, 4) + 100 * number
            got, expected = ours.update(states, -states), plain.update(states, -states)
            assert torch.equal(got[0], expected[0])
            assert torch.equal(got[1], expected[1])
        else:
            index = torch.tensor([row % rows for row in step])
            rows = len(step) if plain.get_seq_length() else rows
            ours.batch_select_indices(index)
            plain.batch_select_indices(index)
        assert ours.get_seq_length() == plain.get_seq_length()
        assert ours.get_mask_sizes(1) == plain.get_mask_sizes(1)


def test_a_prefix_starts_every_row() -> None:
    config = LlamaConfig(num_hidden_layers=2)
    prefix, many = cache.new_cache(config, room=0), cache.new_cache(config, room=5)
    for layer in range(2):
        prefix.update(torch.full((1, 2, 3, 4), float(layer)), torch.full((1, 2, 3, 4), float(-layer)), layer)
    assert cache.can_repeat(prefix)
    cache.repeat(prefix, many, rows=6)
    assert many.get_seq_length() == 3
    keys, values = many.update(torch.ones(6, 2, 1, 4), torch.ones(6, 2, 1, 4), 1)
    assert keys[:, :, :3].eq(1).all()
    assert values[:, :, :3].eq(-1).all()
    assert keys.shape == (6, 2, 4, 4)
    # The prefix itself is untouched.
    assert prefix.layers[1].keys.shape == (1, 2, 3, 4)


def test_sliding_windows_keep_their_own_cache() -> None:
    assert not cache.can_repeat(cache.new_cache(MistralConfig(num_hidden_layers=1, sliding_window=8), room=4))


def test_models_with_sliding_windows_generate_as_ever() -> None:
    config = MistralConfig(
        vocab_size=60, hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=8, sliding_window=8, initializer_range=0.5, eos_token_id=None,
    )  # fmt: skip
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config).eval()
    shared = list(range(3, 33))
    asked = [generate.Request([*shared, 40 + n], 6, 0) for n in range(3)]
    greedy = generate.Sampling(0.0, 1.0)
    done = generate.generate(model, asked, sampling=greedy, stop_ids=frozenset(), batch_tokens=1000)
    for request, completion in zip(asked, done, strict=True):
        ids = torch.tensor([list(request.ids)])
        theirs = model.generate(ids, max_new_tokens=6, do_sample=False, attention_mask=torch.ones_like(ids))
        assert completion.ids == theirs[0, ids.shape[1] :].tolist()


@pytest.mark.parametrize("queries", [1, 5])
@pytest.mark.parametrize("masked", [False, True])
def test_attention_against_its_definition(queries: int, masked: bool) -> None:
    generator = torch.Generator().manual_seed(1)
    query = torch.randn(3, 6, queries, 8, generator=generator)
    key, value = (torch.randn(3, 2, 7, 8, generator=generator) for _ in range(2))
    mask = torch.ones(3, 1, queries, 7, dtype=torch.bool)
    if masked:
        mask[0, ..., :2] = False
        mask[1, ..., 0] = False
    module = torch.nn.Module()
    module.num_key_value_groups, module.is_causal = 3, False
    got, _ = attention._forward(module, query, key, value, mask if masked else None, scaling=0.3)
    for head in range(6):
        scores = torch.einsum("bqd,bkd->bqk", query[:, head], key[:, head // 3]) * 0.3
        weights = scores.masked_fill(~mask[:, 0], float("-inf")).softmax(-1)
        torch.testing.assert_close(got[:, :, head], weights @ value[:, head // 3])


def test_the_backbone_uses_it(tiny_backbone: Path) -> None:
    from faithline.lm import backbone

    model = backbone.load(tiny_backbone, device="cpu", dtype="float32").model
    assert model.config._attn_implementation == attention.NAME

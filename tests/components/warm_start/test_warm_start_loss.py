"""The completion loss against transformers' own, and what it does not compute."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import peft
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM

from components.warm_start.example_sets import IGNORED
from components.warm_start.loss import collate, token_losses


@pytest.fixture
def model(tiny_backbone: Path) -> peft.PeftModel:
    """The tiny backbone with an adapter that is not zero."""
    base = AutoModelForCausalLM.from_pretrained(tiny_backbone)
    torch.manual_seed(1)
    config = peft.LoraConfig(r=2, lora_alpha=4, target_modules=["q_proj", "down_proj"], init_lora_weights=False)
    adapted = peft.get_peft_model(base, config)
    assert isinstance(adapted, peft.PeftModel)
    return adapted


def gradients(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}


@settings(max_examples=15)
@given(data=st.data())
def test_loss_and_gradients_equal_the_plain_model(tiny_backbone: Path, data: st.DataObject, rows_of: Any) -> None:
    base = AutoModelForCausalLM.from_pretrained(tiny_backbone)
    torch.manual_seed(1)
    config = peft.LoraConfig(r=2, target_modules=["q_proj", "lm_head"], init_lora_weights=False)
    adapted = peft.get_peft_model(base, config).double()
    lengths = data.draw(st.lists(st.integers(2, 12), min_size=1, max_size=4))
    rows = rows_of(lengths, [1] * len(lengths))
    for row in rows:  # any pattern of learned positions, gaps and first positions included
        row["labels"] = [token if data.draw(st.booleans()) else IGNORED for token in row["input_ids"]]
    rows[0]["labels"][-1] = rows[0]["input_ids"][-1]
    batch = collate(rows)
    plain = adapted(**batch).loss
    plain.backward()
    expected = gradients(adapted)
    adapted.zero_grad()
    loss = token_losses(adapted, adapted.get_output_embeddings(), batch).nll.mean()
    loss.backward()
    torch.testing.assert_close(loss, plain, atol=1e-5, rtol=1e-5)
    assert expected
    for name, gradient in gradients(adapted).items():
        torch.testing.assert_close(gradient, expected[name], atol=1e-5, rtol=1e-3)


def test_logits_are_computed_for_learned_positions_only(model: peft.PeftModel, rows_of: Any) -> None:
    seen: list[torch.Size] = []
    head = model.get_output_embeddings()
    batch = collate(rows_of([20, 7, 13], [3, 2, 5]))
    after = head.register_forward_hook(lambda _module, _inputs, output: seen.append(output.shape))
    token_losses(model, head, batch)
    after.remove()
    assert seen == [torch.Size([3 + 2 + 5, model.config.vocab_size])]
    # The selection is gone afterwards, also when the model fails.
    assert model(input_ids=batch["input_ids"]).logits.shape[:2] == (3, 20)
    with pytest.raises(AttributeError):
        token_losses(model, head, batch | {"attention_mask": "broken"})  # type: ignore[dict-item]
    assert model(input_ids=batch["input_ids"]).logits.shape[:2] == (3, 20)


def test_padding_does_not_count(model: peft.PeftModel, rows_of: Any) -> None:
    rows = rows_of([20, 5, 13], [3, 1, 5])
    batch = collate(rows)
    assert batch["input_ids"].shape == (3, 20)
    assert batch["attention_mask"].sum(dim=1).tolist() == [20, 5, 13]
    assert (batch["labels"] != IGNORED).sum(dim=1).tolist() == [3, 1, 5]
    head = model.get_output_embeddings()
    together = token_losses(model, head, batch).per_row()
    assert together["tokens"].tolist() == [3, 1, 5]
    for place, row in enumerate(rows):
        alone = token_losses(model, head, collate([row])).per_row()
        for name, values in together.items():
            torch.testing.assert_close(alone[name][0], values[place], atol=1e-4, rtol=1e-4)


def test_correct_counts_what_greedy_decoding_would_write(model: peft.PeftModel, rows_of: Any) -> None:
    prompt = rows_of([6], [1])[0]["input_ids"]
    model.eval()
    ids = torch.tensor([prompt])
    with torch.inference_mode():
        written = model.generate(input_ids=ids, max_new_tokens=4, do_sample=False, eos_token_id=None)[0, 6:].tolist()
    for spoilt, expected in ((None, 4), (3, 3)):
        answer = [token if place != spoilt else (token + 1) % 200 for place, token in enumerate(written)]
        row = {"input_ids": prompt + answer, "labels": [IGNORED] * 6 + answer}
        losses = token_losses(model, model.get_output_embeddings(), collate([row]))
        assert losses.per_row()["correct"].tolist() == [expected]

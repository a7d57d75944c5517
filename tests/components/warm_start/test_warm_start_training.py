"""Training: what may not change it, what is kept, and how going wrong is noticed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import peft
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from components.warm_start import train, trainer
from components.warm_start.example_sets import ExampleSet
from components.warm_start.loss import collate, token_losses
from faithline.lm import backbone
from faithline.pipeline.errors import ConfigError, Diverged

Trained = Callable[..., train.Result]


@pytest.fixture
def examples(rows_of: Any) -> train.Examples:
    """Eight questions that teach one to five tokens each, and three to measure on."""
    lengths = [30, 12, 25, 9, 17, 21, 14, 28]
    return train.Examples(
        train=ExampleSet(rows_of(lengths, [1 + place % 5 for place in range(8)]), {}),
        validation=ExampleSet(rows_of([15] * 3, [3] * 3, 9), {}),
    )


@pytest.fixture
def trained(tiny_backbone: Path, examples: train.Examples, settings_with: Any) -> Trained:
    """Train an adapter on the tiny backbone, afresh at every call."""

    def run(given: train.Examples = examples, advance: Callable[[int], None] = lambda _n: None, **changes: Any) -> Any:
        base = backbone.load(tiny_backbone, device="cpu", dtype="float32")
        return train.train(base, given, settings_with(**changes), 1, advance)

    return run


def adapter(result: train.Result) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in peft.get_peft_model_state_dict(result.model).items()}


def distance(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> float:
    assert one.keys() == other.keys()
    return max(float((one[name] - other[name]).abs().max()) for name in one)


PLAIN = {"lora": {"dropout": 0.0}, "keep": "last", "eval_every": 100}


def test_accumulation_does_not_change_the_training(trained: Trained) -> None:
    """Rows teach 1 to 5 tokens each, so a mean of micro-batch means would give another adapter."""
    whole = adapter(trained(**PLAIN, optimisation={"batch_size": 4, "accumulation": 1}))
    parts = adapter(trained(**PLAIN, optimisation={"batch_size": 2, "accumulation": 2}))
    single = adapter(trained(**PLAIN, optimisation={"batch_size": 1, "accumulation": 4}))
    other = adapter(trained(**PLAIN, optimisation={"batch_size": 2, "accumulation": 1}))
    assert distance(whole, parts) < 1e-4
    assert distance(whole, single) < 1e-4
    assert distance(whole, other) > 1e-3


def test_gradient_checkpointing_does_not_change_the_training(trained: Trained) -> None:
    plain = adapter(trained(**PLAIN))
    checkpointed = adapter(trained(**PLAIN, optimisation={"gradient_checkpointing": True}))
    assert distance(plain, checkpointed) < 1e-4


def test_the_loss_falls_and_the_backbone_stays(trained: Trained, tiny_backbone: Path) -> None:
    result = trained(**PLAIN, optimisation={"epochs": 30.0, "learning_rate": 0.05})
    losses = [row["loss"] for _, row in sorted(result.curve.items()) if "loss" in row]
    assert np.mean(losses[-4:]) < 0.5 * np.mean(losses[:4])
    original = load_file(tiny_backbone / "model.safetensors")
    merged = {
        name.replace(".base_layer", ""): tensor for name, tensor in result.model.get_base_model().state_dict().items()
    }
    for name, tensor in original.items():
        assert torch.equal(merged[name], tensor), name


def test_the_curve_and_the_steps(trained: Trained, examples: train.Examples) -> None:
    done: list[int] = []
    chosen = {"epochs": 1.5, "batch_size": 3, "accumulation": 2}
    result = trained(advance=done.append, optimisation=chosen, eval_every=2)
    # 8 rows: 3 batches, so 2 optimiser steps an epoch, 3 steps in all.
    assert len(done) == max(result.curve) == 3
    # Tokens without padding: two whole steps read all rows once, the third one three or six rows again.
    assert done[0] + done[1] == examples.train.tokens == 156
    assert 9 + 12 + 14 <= done[2] <= 156 - 9 - 12
    assert [step for step, row in result.curve.items() if "eval_loss" in row] == [0, 2, 3]
    assert [step for step, row in result.curve.items() if "loss" in row] == [1, 2, 3]
    # One step of warm-up from 0, then half a cosine wave over two steps.
    assert [result.curve[step]["learning_rate"] for step in (1, 2, 3)] == pytest.approx([0.0, 0.01, 0.005])


def test_validation_loss_is_per_token_whatever_the_batches(
    trained: Trained, examples: train.Examples, rows_of: Any, tiny_backbone: Path
) -> None:
    rows = rows_of([15, 9, 30, 12, 8], [5, 1, 2, 7, 3], 3)
    found = set()
    for size in (1, 2, 5):
        given = train.Examples(train=examples.train, validation=ExampleSet(rows, {}))
        result = trained(given, optimisation={"batch_size": size, "epochs": 0.1})
        found.add(round(result.curve[0]["eval_loss"], 4))
    plain = AutoModelForCausalLM.from_pretrained(tiny_backbone)
    with torch.inference_mode():
        total = sum(
            float(plain(**collate([row])).loss) * count for row, count in zip(rows, [5, 1, 2, 7, 3], strict=True)
        )
    assert len(found) == 1
    assert found.pop() == pytest.approx(total / 18, abs=1e-3)


def test_the_best_adapter_is_kept_or_the_last_one(trained: Trained, examples: train.Examples) -> None:
    wild = {"learning_rate": 0.5, "epochs": 3.0, "scheduler": "constant_with_warmup"}
    best = trained(keep="best", optimisation=wild)
    last = trained(keep="last", optimisation=wild)
    assert best.curve == last.curve
    measured = {step: row["eval_loss"] for step, row in best.curve.items() if "eval_loss" in row}
    assert best.kept_step == min(measured, key=lambda step: (measured[step], step))
    assert last.kept_step == max(measured) != best.kept_step
    for result in (best, last):
        model = result.model.eval()
        with torch.inference_mode():
            losses = token_losses(model, model.get_output_embeddings(), collate(examples.validation.rows))
        assert float(losses.nll.mean()) == pytest.approx(measured[result.kept_step], rel=1e-4)


def test_dropout_is_on_in_training_and_off_in_validation(trained: Trained) -> None:
    # The first evaluation is the backbone alone either way.
    one, two = (trained(lora={"dropout": rate}, keep="last") for rate in (0.0, 0.5))
    assert one.curve[0] == two.curve[0]
    assert distance(adapter(one), adapter(two)) > 1e-3


@pytest.mark.parametrize("epochs", [0.1, 2.0])
def test_a_training_that_blows_up_is_reported(trained: Trained, epochs: float) -> None:
    """Faults row 27: infinite weights must end the run, also when they come with the last step."""
    chosen = {"warmup_ratio": 0.0, "scheduler": "constant_with_warmup", "learning_rate": 1e38, "epochs": epochs}
    with pytest.raises(Diverged) as raised:
        trained(optimisation=chosen, eval_every=1000)
    assert "learning_rate" in raised.value.next_step


def test_a_loss_that_is_not_finite_ends_the_run_at_once(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    real = trainer.token_losses

    def spoilt(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        losses = real(*arguments)
        if calls == 4:
            losses.nll = losses.nll * float("nan")
        return losses

    monkeypatch.setattr(trainer, "token_losses", spoilt)
    with pytest.raises(Diverged, match="loss is nan"):
        trained()
    assert calls == 4


def test_unknown_target_modules_are_named(trained: Trained) -> None:
    with pytest.raises(ConfigError, match="query_key_value"):
        trained(lora={"target_modules": ["q_proj", "query_key_value"]})

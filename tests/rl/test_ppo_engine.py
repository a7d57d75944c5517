"""The local engine against a plain model: scores, gradients, invariances, samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM

from faithline.pipeline.errors import DataInvalid, Diverged
from faithline.rl.engine.learner import Batch
from faithline.rl.engine.local import LocalEngine
from faithline.rl.optimiser import Optimiser
from faithline.rl.row import Row
from faithline.rl.values import ValueHeads

MakeEngine = Callable[..., LocalEngine]


def rows(count: int = 7, role: str = "actor", seed: int = 3) -> list[Row]:
    random = np.random.default_rng(seed)
    return [
        Row(
            role,
            random.integers(3, 250, random.integers(1, 12)).tolist(),
            random.integers(3, 250, random.integers(1, 9)).tolist(),
            float(random.normal()),
        )
        for _ in range(count)
    ]


def plain_logprobs(model: Any, row: Row, temperature: float) -> Tensor:
    whole = torch.tensor([[*row.prompt_ids, *row.response_ids]])
    logits = model(whole).logits[0, len(row.prompt_ids) - 1 : -1] / temperature
    found: Tensor = logits.log_softmax(-1).gather(1, torch.tensor(row.response_ids)[:, None]).squeeze(1)
    return found


@pytest.fixture
def gradients(monkeypatch: pytest.MonkeyPatch) -> Callable[[LocalEngine, Batch], dict[str, Tensor]]:
    """The gradient that one optimiser step would apply, unclipped."""

    def compute(engine: LocalEngine, batch: Batch) -> dict[str, Tensor]:
        monkeypatch.setattr(Optimiser, "step", lambda self, step: None)
        engine.learn(batch, 1)
        weights = engine.network.trainable["policy"] | engine.heads.parameters
        return {name: weight.grad.clone() for name, weight in weights.items() if weight.grad is not None}

    return compute


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_scores_are_those_of_a_plain_model(make_engine: MakeEngine, tiny_backbone: Path, temperature: float) -> None:
    model = AutoModelForCausalLM.from_pretrained(tiny_backbone, attn_implementation="eager")
    engine, own = make_engine(rollout={"temperature": temperature}), rows()
    scores = engine.score(own)
    for place, row in enumerate(own):
        with torch.no_grad():
            expected = plain_logprobs(model, row, temperature)
            whole = torch.tensor([[*row.prompt_ids, *row.response_ids]])
            spread = (model(whole).logits[0, len(row.prompt_ids) - 1 : -1] / temperature).softmax(-1)
        length = len(row.response_ids)
        for found in (scores.old, scores.reference):
            torch.testing.assert_close(found[place, :length], expected, atol=2e-4, rtol=1e-4)
            assert found[place, length:].eq(0).all()
        entropy = torch.distributions.Categorical(spread).entropy()
        torch.testing.assert_close(scores.entropy[place, :length], entropy, atol=2e-4, rtol=1e-3)
    assert scores.values.eq(0).all()  # heads start at zero


def test_padding_and_neighbours_do_not_matter(make_engine: MakeEngine) -> None:
    own = rows()
    alone = make_engine(micro_tokens=1).score(own)
    together = make_engine(micro_tokens=100_000).score([*own, Row("actor", [9] * 60, [8] * 40, 0.0)])
    width = alone.old.shape[1]
    for one, other in ((alone.old, together.old), (alone.entropy, together.entropy)):
        torch.testing.assert_close(one, other[: len(own), :width], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("loss_mean", ["token", "row"])
def test_the_gradient_is_that_of_the_loss_written_out(
    make_engine: MakeEngine, tiny_backbone: Path, gradients: Callable[..., dict[str, Tensor]], loss_mean: str
) -> None:
    """An independent computation: row by row, by the formulas, through the logits of all positions."""
    own = rows()
    patch: dict[str, Any] = {
        "epochs": 1,
        "minibatch_rows": 99,
        "loss_mean": loss_mean,
        "entropy_coefficient": 0.03,
        "kl": {"coefficient": 0.2},
        "critic": {"train_features": True},
    }
    engine = make_engine(**patch)
    batch = engine.prepare(own, engine.score(own))
    # Off the policy, so that clipping has something to do.
    shift = torch.linspace(-0.6, 0.6, batch.old.numel()).reshape(batch.old.shape)
    batch = Batch(**{**vars(batch), "old": batch.old + shift})
    found = gradients(engine, batch)
    other = make_engine(**patch)
    model = other.network.use("policy")
    head = other.heads.parameters["shared.weight"]
    total = torch.zeros(())
    for place, row in enumerate(own):
        length = len(row.response_ids)
        whole = torch.tensor([[*row.prompt_ids, *row.response_ids]])
        output = model(whole, output_hidden_states=True)
        at = slice(len(row.prompt_ids) - 1, -1)
        logs = output.logits[0, at].log_softmax(-1)
        new = logs.gather(1, torch.tensor(row.response_ids)[:, None]).squeeze(1)
        old, advantage = batch.old[place, :length], batch.advantages[place, :length]
        ratio = (new - old).exp()
        gain = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
        gain = torch.where(advantage < 0, torch.maximum(gain, 3 * advantage), gain)
        apart = new - batch.reference[place, :length]
        kl = (-apart).exp() - 1 + apart
        entropy = -(logs.exp() * logs).sum(-1)
        value = output.hidden_states[-1][0, at] @ head[0] + other.heads.parameters["shared.bias"]
        value_loss = 0.5 * (value - batch.returns[place, :length]) ** 2
        per_token = -gain + 0.2 * kl - 0.03 * entropy + 0.5 * value_loss
        total = total + (per_token.mean() / len(own) if loss_mean == "row" else per_token.sum() / batch.mask.sum())
    total.backward()
    expected = {name: w.grad for name, w in (other.network.trainable["policy"] | other.heads.parameters).items()}
    scale = math.sqrt(sum(float((g**2).sum()) for name, g in expected.items() if g is not None and "lora" in name))
    clipped = min(1.0, 1.0 / scale)  # max_grad_norm is 1
    for name, gradient in found.items():
        reference = expected[name]
        assert reference is not None
        if "lora" in name:
            torch.testing.assert_close(gradient, reference * clipped, atol=2e-4, rtol=2e-3)


@pytest.mark.parametrize("adapters", ["shared", "per_role"])
@pytest.mark.parametrize("critic", ["heads", "separate"])
def test_micro_batches_do_not_change_the_gradient(make_engine: MakeEngine, adapters: str, critic: str) -> None:
    def course(micro_tokens: int) -> dict[str, Tensor]:
        engine = make_engine(
            roles=("actor", "critic_role"),
            trained_roles=["actor", "critic_role"],
            adapters=adapters,
            micro_tokens=micro_tokens,
            epochs=1,
            minibatch_rows=99,
            critic={"model": critic, "train_features": True},
            actor={"learning_rate": 1e-6},  # Adam's first step hides a gradient's size, so look at the norms
        )
        found = engine.update([*rows(5), *rows(4, "critic_role", seed=8)], 1)
        return {name: torch.tensor(value) for name, value in found.items() if not name.startswith("sampling")}

    whole, parts, single = course(100_000), course(50), course(1)
    for name, value in whole.items():
        for other in (parts, single):
            torch.testing.assert_close(other[name], value, atol=2e-5, rtol=2e-3, msg=name)


def test_only_the_critic_learns_while_the_policy_rests(make_engine: MakeEngine) -> None:
    engine = make_engine(critic={"only_steps": 1})
    before = engine.weights()["policy"]
    first = engine.update(rows(), 1)
    assert "policy_loss" not in first
    assert all(torch.equal(before[name], value) for name, value in engine.weights()["policy"].items())
    assert engine.heads.parameters["shared.weight"].abs().max() > 0
    engine.update(rows(), 2)
    assert not all(torch.equal(before[name], value) for name, value in engine.weights()["policy"].items())


def test_rows_that_only_act_are_not_learned_from(make_engine: MakeEngine) -> None:
    def weights(extra: list[Row]) -> dict[str, Tensor]:
        engine = make_engine(roles=("actor", "proposer"))
        engine.update([*rows(), *extra], 1)
        return engine.weights()["policy"]

    silent = [Row("actor", [1], [2], 5.0, trainable=False), Row("proposer", [1], [2], 9.0)]
    plain = weights([])
    assert all(torch.equal(plain[name], value) for name, value in weights(silent).items())


def test_a_step_without_a_learnable_row_is_invalid_data(make_engine: MakeEngine) -> None:
    engine = make_engine(roles=("actor", "proposer"))
    for batch in ([], [Row("proposer", [1], [2], 9.0)]):
        with pytest.raises(DataInvalid, match=f"none of {len(batch)} rows"):
            engine.update(batch, 1)


def test_broken_weights_diverge(make_engine: MakeEngine) -> None:
    engine = make_engine()
    for weight in engine.network.trainable["policy"].values():
        weight.data.fill_(math.nan)
    with pytest.raises(Diverged, match="not finite"):
        engine.sample("actor", [[5, 6]], seed=1)
    with pytest.raises(Diverged, match="gradient of `policy` is not finite"):
        engine.update(rows(), 1)


@pytest.mark.parametrize("tuning", ["lora", "full"])
def test_bfloat16_passes_train_float32_weights(make_engine: MakeEngine, tuning: str) -> None:
    engine = make_engine(tuning=tuning, dtype="bfloat16", actor={"learning_rate": 1e-3})
    plain = make_engine(tuning=tuning).score(rows())
    before, coarse = engine.weights()["policy"], engine.score(rows())
    assert 0 < float((coarse.old - plain.old).abs().mean()) < 0.5  # log-probabilities of about -10
    own = [one.row("actor", [5, 6], 1.0) for one in engine.sample("actor", [[5, 6]] * 3, seed=1)]
    engine.update([*rows(), *own], 1)
    after = engine.weights()["policy"]
    assert {weight.dtype for weight in after.values()} == {torch.float32}
    assert any(not torch.equal(before[name], weight) for name, weight in after.items())


def test_a_sample_depends_on_seed_and_place_alone(make_engine: MakeEngine) -> None:
    prompts = [[5, 6], [7] * 20, [8, 9, 10]]
    wide, narrow = make_engine(), make_engine(rollout={"batch_tokens": 1})
    drawn = wide.sample("actor", prompts, seed=4)
    assert [one.ids for one in drawn] == [one.ids for one in narrow.sample("actor", prompts, seed=4)]
    assert wide.sample("actor", prompts[:1], seed=4)[0].ids == drawn[0].ids
    assert [one.ids for one in wide.sample("actor", prompts, seed=5)] != [one.ids for one in drawn]
    assert all(len(one.ids) <= 5 for one in drawn)
    assert [len(one.ids) for one in wide.sample("actor", prompts, seed=4, greedy=True, max_new_tokens=1)] == [1] * 3
    text = wide.chat.decode(drawn[0].ids)
    assert (drawn[0].text, drawn[0].finished) == (text, drawn[0].ids[-1] in wide.chat.stop_ids)


def test_the_samplers_probabilities_are_the_training_pass(make_engine: MakeEngine) -> None:
    engine = make_engine(rollout={"temperature": 0.7})
    engine.update(rows(), 1)
    prompts = [[5, 6], [7] * 20, [8, 9, 10]]
    drawn = engine.sample("actor", prompts, seed=4)
    own = [
        one.row("actor", prompt, float(place)) for place, (one, prompt) in enumerate(zip(drawn, prompts, strict=True))
    ]
    assert engine.update(own, 2)["sampling_gap"] < 1e-3


def test_a_restored_engine_goes_on_bit_by_bit(make_engine: MakeEngine) -> None:
    patch: dict[str, Any] = {"kl": {"controller": "adaptive", "coefficient": 0.1, "where": "reward"}}
    one, other = make_engine(**patch), make_engine(**patch)
    one.update(rows(), 1)
    state = one.state()
    copied = {
        file: {name: t.detach().clone() for name, t in tensors.items()} for file, tensors in state.tensors.items()
    }
    other.restore(type(state)(copied, state.coefficient))
    assert one.update(rows(seed=5), 2) == other.update(rows(seed=5), 2)
    for name, value in one.weights()["policy"].items():
        assert torch.equal(value, other.weights()["policy"][name])


def test_value_heads_by_role() -> None:
    hidden = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    mask = torch.tensor([[True, True], [True, False]])
    per_role = ValueHeads("per_role", ["a", "b"], 2, torch.device("cpu"))
    assert per_role(hidden, mask, ["a", "b"]).tolist() == [0, 0, 0]
    with torch.no_grad():
        per_role.parameters["a.weight"].copy_(torch.tensor([[1.0, 0.0]]))
        per_role.parameters["b.weight"].copy_(torch.tensor([[0.0, 10.0]]))
        per_role.parameters["b.bias"].fill_(0.5)
    assert per_role(hidden, mask, ["a", "b"]).tolist() == [1, 3, 60.5]
    assert per_role(hidden, mask, ["a", "a"]).tolist() == [1, 3, 5]
    shared = ValueHeads("shared", ["a", "b"], 2, torch.device("cpu"))
    assert list(shared.parameters) == ["shared.weight", "shared.bias"]

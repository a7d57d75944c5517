"""Adapters on one backbone: nothing leaks between them, files load elsewhere, a frozen role keeps its bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel
from torch import Tensor
from transformers import AutoModelForCausalLM

from faithline.lm import backbone
from faithline.pipeline.errors import ConfigError, EnvironmentMismatch
from faithline.rl.engine.local import LocalEngine
from faithline.rl.row import Row

MakeEngine = Callable[..., LocalEngine]
ROLES = ("planner", "selector", "writer")
THREE: dict[str, Any] = {"adapters": "per_role", "trained_roles": list(ROLES), "critic": {"heads": "per_role"}}


def digest(tensors: dict[str, Any]) -> str:
    found = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        found.update(name.encode() + tensor.detach().numpy().tobytes())
    return found.hexdigest()


def digests(engine: LocalEngine) -> dict[str, str]:
    """Of each policy, and of everything that is not trained."""
    trained = {id(weight) for weights in engine.network.trainable.values() for weight in weights.values()}
    rest = {name: w for name, w in engine.network.base.model.named_parameters() if id(w) not in trained}
    return {"frozen": digest(rest)} | {name: digest(dict(w)) for name, w in engine.network.trainable.items()}


def rows(role: str, count: int = 4) -> list[Row]:
    return [Row(role, [10 + n, 20, 30], [40 + n, 50, 60], float(n % 2)) for n in range(count)]


def logits(model: Any) -> Tensor:
    with torch.no_grad():
        found: Tensor = model(torch.tensor([[10, 20, 30, 40]])).logits
    return found


@pytest.fixture
def adapter(make_engine: MakeEngine, tmp_path: Path) -> Path:
    """An adapter that changes something."""
    engine = make_engine(seed=5)
    engine.update(rows("actor"), 1)
    folder = tmp_path / "adapter"
    folder.mkdir()
    engine.export("policy", folder, "models/backbone")
    return folder


@pytest.mark.parametrize("separate", [False, True])
def test_a_role_that_learns_changes_no_other(make_engine: MakeEngine, separate: bool) -> None:
    critic = {"model": "separate" if separate else "heads", "train_features": True, "heads": "per_role"}
    engine = make_engine(roles=ROLES, **{**THREE, "critic": critic})
    before = digests(engine)
    for number, role in enumerate(ROLES, start=1):
        engine.update(rows(role), number)
        after = digests(engine)
        assert {name for name in after if after[name] != before[name]} == {role, *(["value"] if separate else [])}
        assert all(weight.grad is None for name, weight in engine.network.base.model.named_parameters())
        before = after


def test_a_mixed_batch_trains_each_role_on_its_own_rows(make_engine: MakeEngine) -> None:
    """Two roles' gradients in one batch are those of each alone, whatever was active in between."""

    def after(*batches: list[Row]) -> dict[str, str]:
        engine = make_engine(roles=ROLES, epochs=1, minibatch_rows=99, **{**THREE, "whitening": "per_role"})
        for batch in batches:
            engine.update(batch, 1)
        return digests(engine)

    mixed = after([row for pair in zip(rows("planner"), rows("writer"), strict=True) for row in pair])
    one, other = after(rows("planner")), after(rows("writer"))
    assert mixed == {**one, "writer": other["writer"]}


@pytest.mark.parametrize("frozen", ROLES)
def test_a_frozen_role_keeps_its_bytes(make_engine: MakeEngine, adapter: Path, tmp_path: Path, frozen: str) -> None:
    patch = {**THREE, "trained_roles": [role for role in ROLES if role != frozen]}
    engine = make_engine(roles=ROLES, init={frozen: adapter}, **patch)
    before = digests(engine)[frozen]
    for step in range(1, 4):
        engine.update([row for role in ROLES for row in rows(role)], step)
    assert digests(engine)[frozen] == before
    engine.export(frozen, tmp_path, "models/backbone")
    for name in ("adapter_model.safetensors", "adapter_config.json"):
        assert (tmp_path / name).read_bytes() == (adapter / name).read_bytes()


def test_an_exported_adapter_loads_in_peft(make_engine: MakeEngine, tiny_backbone: Path, tmp_path: Path) -> None:
    engine = make_engine()
    untrained = logits(engine.network.use("policy"))
    engine.update(rows("actor"), 1)
    engine.export("policy", tmp_path, "models/backbone")
    config = json.loads((tmp_path / "adapter_config.json").read_text())
    assert (config["base_model_name_or_path"], config["inference_mode"]) == ("models/backbone", True)
    backbone.require_base(tmp_path, tiny_backbone)
    theirs = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(tiny_backbone), str(tmp_path)).eval()
    ours = logits(engine.network.use("policy"))
    assert not torch.allclose(ours, untrained, atol=1e-3)
    torch.testing.assert_close(ours, logits(theirs), atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(logits(engine.network.use(None)), untrained)


def test_full_tuning_exports_a_model_folder(make_engine: MakeEngine, tiny_backbone: Path, tmp_path: Path) -> None:
    engine = make_engine(tuning="full", actor={"learning_rate": 1e-3})
    plain = logits(engine.network.use(None))
    engine.update(rows("actor"), 1)
    engine.export("policy", tmp_path, "")
    model = backbone.load(tmp_path, device="cpu", dtype="float32").model
    torch.testing.assert_close(logits(engine.network.use("policy")), logits(model))
    torch.testing.assert_close(logits(engine.network.use(None)), plain)
    torch.testing.assert_close(plain, logits(AutoModelForCausalLM.from_pretrained(tiny_backbone)))
    assert not torch.allclose(logits(model), plain, atol=1e-4)


@pytest.mark.parametrize("tuning", ["lora", "full"])
@pytest.mark.parametrize("reference", ["initial", "base"])
def test_divergence_is_measured_from_the_reference(
    make_engine: MakeEngine, adapter: Path, reference: str, tuning: str
) -> None:
    engine = make_engine(init={"policy": adapter}, reference=reference, tuning=tuning)
    scores = engine.score(rows("actor"))
    gap = float((scores.old - scores.reference).abs().max())
    assert gap < 1e-5 if reference == "initial" else gap > 1e-3
    engine.update(rows("actor"), 1)
    again = engine.score(rows("actor"))
    torch.testing.assert_close(again.reference, scores.reference)
    assert not torch.allclose(again.old, scores.old, atol=1e-3)


def test_adapters_of_other_names_or_backbones_are_refused(
    make_engine: MakeEngine, adapter: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="policies that there are not: writer"):
        make_engine(init={"writer": adapter})
    with pytest.raises(ConfigError, match="cannot be trained: actor"):
        make_engine(roles=("other",))
    with pytest.raises(ConfigError, match="cannot be trained: critic"):
        make_engine(roles=("actor", "critic"))
    with pytest.raises(ConfigError, match="no layers called surprise_proj"):
        make_engine(lora={"target_modules": ["surprise_proj"]})
    (adapter / "backbone.json").write_text('{"fingerprint": "0123456789abcdef"}')
    with pytest.raises(EnvironmentMismatch, match="another backbone"):
        make_engine(init={"policy": adapter})


def test_checkpointing_recomputes_only_in_training_passes(make_engine: MakeEngine) -> None:
    def course(checkpointing: bool) -> Iterator[Tensor]:
        engine = make_engine(gradient_checkpointing=checkpointing, epochs=1)
        engine.update(rows("actor"), 1)
        assert not any(module.training for module in engine.network.base.model.modules())
        yield from (weight.detach() for _, weight in sorted(engine.network.trainable["policy"].items()))

    for plain, recomputed in zip(course(False), course(True), strict=True):
        torch.testing.assert_close(plain, recomputed)

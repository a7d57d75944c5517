"""Loading a backbone: what is refused, what identifies it, what merging an adapter does."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import peft
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from faithline.lm import backbone
from faithline.pipeline.errors import Diverged, EnvironmentMismatch


@pytest.fixture
def folder(tiny_backbone: Path, tmp_path: Path) -> Path:
    """A copy of the tiny backbone to spoil."""
    return Path(shutil.copytree(tiny_backbone, tmp_path / "backbone"))


@pytest.fixture
def adapter(tiny_backbone: Path, tmp_path: Path) -> Path:
    """An adapter of the tiny backbone that changes its output."""
    model = AutoModelForCausalLM.from_pretrained(tiny_backbone)
    torch.manual_seed(1)
    config = peft.LoraConfig(r=2, lora_alpha=4, target_modules=["q_proj", "down_proj"], init_lora_weights=False)
    path = tmp_path / "adapter"
    peft.get_peft_model(model, config).save_pretrained(str(path))
    backbone.write_base(path, tiny_backbone)
    return path


def edit_config(folder: Path, **changes: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes, indent=1))


def rewrite_weights(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"][3] += 1e-3
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def circumstances(folder: Path) -> None:
    edit_config(folder, transformers_version="9.9", dtype="bfloat16", _name_or_path="/elsewhere", use_cache=False)
    (folder / "generation_config.json").write_text("{}")
    (folder / "record.json").write_text("{}")


def test_fingerprint_ignores_circumstances(tiny_backbone: Path, folder: Path) -> None:
    circumstances(folder)
    assert backbone.fingerprint(folder) == backbone.fingerprint(tiny_backbone)
    assert len(backbone.fingerprint(folder)) == 64


@pytest.mark.parametrize(
    "change",
    [
        rewrite_weights,
        lambda folder: edit_config(folder, rms_norm_eps=1e-3),
        lambda folder: (folder / "chat_template.jinja").write_text("{{ messages }}"),
        lambda folder: (folder / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes() + b" "),
        lambda folder: (folder / "model.safetensors").rename(folder / "model-00001-of-00001.safetensors"),
    ],
)
def test_fingerprint_sees_what_is_computed(tiny_backbone: Path, folder: Path, change: Callable[[Path], object]) -> None:
    change(folder)
    assert backbone.fingerprint(folder) != backbone.fingerprint(tiny_backbone)


def test_an_adapter_of_another_backbone_is_refused(folder: Path, adapter: Path) -> None:
    rewrite_weights(folder)
    with pytest.raises(EnvironmentMismatch, match="another backbone"):
        backbone.load(folder, device="cpu", dtype="float32", adapter=adapter)


@pytest.mark.parametrize("missing", ["backbone.json", "adapter_model.safetensors", "adapter_config.json"])
def test_an_incomplete_adapter_is_refused(tiny_backbone: Path, adapter: Path, missing: str) -> None:
    (adapter / missing).unlink()
    with pytest.raises(EnvironmentMismatch, match=missing):
        backbone.require_base(adapter, tiny_backbone)


@pytest.mark.parametrize("text", ["", "[]", "{}", "null"])
def test_an_unreadable_base_note_is_refused(tiny_backbone: Path, adapter: Path, text: str) -> None:
    (adapter / backbone.BASE_FILE).write_text(text)
    with pytest.raises(EnvironmentMismatch, match="which backbone"):
        backbone.require_base(adapter, tiny_backbone)


def test_merging_changes_the_place_of_the_adapter_not_the_output(tiny_backbone: Path, adapter: Path) -> None:
    ids = torch.tensor([[1, 30, 60, 90]])
    plain, apart, merged = (
        backbone.load(tiny_backbone, device="cpu", dtype="float32", adapter=path, merge=merge).model
        for path, merge in ((None, False), (adapter, False), (adapter, True))
    )
    assert isinstance(apart, peft.PeftModel)
    assert not isinstance(merged, peft.PeftModel)
    with torch.inference_mode():
        base, one, other = (model(ids).logits for model in (plain, apart, merged))
    torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)
    assert (base - one).abs().max() > 0.1
    assert not any(model.training for model in (plain, apart, merged))
    assert not any(parameter.requires_grad for name, parameter in apart.named_parameters() if "lora" in name)


def test_an_adapter_with_broken_weights_is_not_merged(tiny_backbone: Path, adapter: Path) -> None:
    weights = load_file(adapter / "adapter_model.safetensors")
    next(iter(weights.values()))[0] = float("nan")
    save_file(weights, adapter / "adapter_model.safetensors")
    with pytest.raises(Diverged, match="merged"):
        backbone.load(tiny_backbone, device="cpu", dtype="float32", adapter=adapter, merge=True)


@pytest.mark.parametrize(
    ("missing", "message"),
    [("config.json", "config.json"), ("model.safetensors", "safetensors"), ("tokenizer.json", "tokenizer.json")],
)
def test_an_incomplete_backbone_is_refused(folder: Path, missing: str, message: str) -> None:
    # Weights in another format do not count: they would have to be unpickled.
    (folder / missing).rename(folder / "pytorch_model.bin")
    with pytest.raises(EnvironmentMismatch, match=message) as caught:
        backbone.load(folder, device="cpu", dtype="float32")
    assert caught.value.next_step


def test_a_tokeniser_without_a_template_is_refused(folder: Path) -> None:
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(EnvironmentMismatch, match="chat template"):
        backbone.load_tokenizer(folder)


def test_choices() -> None:
    cpu = torch.device("cpu")
    assert backbone.choose_dtype("auto", cpu) is torch.float32
    assert backbone.choose_dtype("bfloat16", cpu) is torch.bfloat16
    assert backbone.choose_device("cpu") == cpu
    if not torch.cuda.is_available():
        assert backbone.choose_device("auto") == cpu
        with pytest.raises(EnvironmentMismatch, match="CUDA"):
            backbone.choose_device("cuda")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_generates_in_bfloat16(tiny_backbone: Path) -> None:
    from faithline.lm.generate import Request, Sampling, generate

    loaded = backbone.load(tiny_backbone, device="cuda", dtype="auto")
    assert loaded.dtype is torch.bfloat16
    asked = [Request(list(range(3, 3 + size)), 4, 0) for size in (20, 30, 25)]
    done = generate(loaded.model, asked, sampling=Sampling(0.0, 1.0), stop_ids=frozenset(), batch_tokens=1000)
    assert [len(completion.ids) for completion in done] == [4, 4, 4]

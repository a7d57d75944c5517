"""GGUF conversion: against hand-made blocks, against llama.cpp's own row order, and against transformers' reader."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from faithline.models.folder import listing
from faithline.models.gguf import convert
from faithline.pipeline.errors import EnvironmentMismatch

LAYERS, HIDDEN, INNER, HEADS, KV_HEADS = 2, 64, 96, 4, 2
HEAD_DIM = HIDDEN // HEADS
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
MERGES = ["Ċ Ċ", "Ġ a", "a n", "Ġa n"]
Weights = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def weights(byte_tokens: list[str]) -> Weights:
    """Random weights under GGUF's names, in the row order of Hugging Face."""
    random = np.random.default_rng(11)
    shapes: dict[str, tuple[int, ...]] = {"token_embd": (len(byte_tokens), HIDDEN), "output_norm": (HIDDEN,)}
    for layer in range(LAYERS):
        shapes |= {
            f"blk.{layer}.attn_norm": (HIDDEN,),
            f"blk.{layer}.attn_q": (HIDDEN, HIDDEN),
            f"blk.{layer}.attn_k": (KV_HEADS * HEAD_DIM, HIDDEN),
            f"blk.{layer}.attn_v": (KV_HEADS * HEAD_DIM, HIDDEN),
            f"blk.{layer}.attn_output": (HIDDEN, HIDDEN),
            f"blk.{layer}.ffn_norm": (HIDDEN,),
            f"blk.{layer}.ffn_gate": (INNER, HIDDEN),
            f"blk.{layer}.ffn_up": (INNER, HIDDEN),
            f"blk.{layer}.ffn_down": (HIDDEN, INNER),
        }
    return {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def llama_cpp_rows(values: np.ndarray, heads: int) -> np.ndarray:
    """Row order that llama.cpp's converter gives queries and keys: the two rotary halves interleaved."""
    rows = [
        values[head * HEAD_DIM + half * HEAD_DIM // 2 + pair]
        for head in range(heads)
        for pair in range(HEAD_DIM // 2)
        for half in range(2)
    ]
    return np.stack(rows)


WriteGguf = Callable[..., Path]


@pytest.fixture
def write_gguf(tmp_path: Path, byte_tokens: list[str], weights: Weights) -> WriteGguf:
    """Factory: a GGUF file of the tiny model; `skip` and `extra` change its metadata, `drop` leaves a tensor out."""

    def write(
        *,
        quantised: bool = False,
        arch: str = "llama",
        pre: str = "smollm",
        drop: str = "",
        skip: tuple[str, ...] = (),
        extra_tensor: str = "",
        scaling: bool = False,
    ) -> Path:
        from gguf import GGMLQuantizationType, GGUFWriter, RopeScalingType, quantize

        path = tmp_path / "tiny.gguf"
        writer = GGUFWriter(path, arch)
        settings: list[tuple[str, Any]] = [
            ("add_context_length", 128),
            ("add_embedding_length", HIDDEN),
            ("add_block_count", LAYERS),
            ("add_feed_forward_length", INNER),
            ("add_head_count", HEADS),
            ("add_head_count_kv", KV_HEADS),
            ("add_rope_freq_base", 10000.0),
            ("add_layer_norm_rms_eps", 1e-5),
            ("add_tokenizer_model", "gpt2"),
            ("add_tokenizer_pre", pre),
            ("add_token_list", byte_tokens),
            ("add_token_types", [3, 3, 3] + [1] * (len(byte_tokens) - 3)),
            ("add_token_merges", MERGES),
            ("add_bos_token_id", 1),
            ("add_eos_token_id", 2),
            ("add_pad_token_id", 2),
            ("add_unk_token_id", 0),
            ("add_chat_template", TEMPLATE),
        ]
        for method, value in settings:
            if method not in skip:
                getattr(writer, method)(value)
        if scaling:
            writer.add_rope_scaling_type(RopeScalingType.YARN)
        for name, values in weights.items():
            part = name.split(".")[-1]
            heads = {"attn_q": HEADS, "attn_k": KV_HEADS}.get(part)
            stored = values if heads is None else llama_cpp_rows(values, heads)
            if name == drop:
                continue
            if quantised and values.ndim == 2:
                kind = GGMLQuantizationType.Q8_0 if name == "token_embd" else GGMLQuantizationType.Q4_1
                writer.add_tensor(f"{name}.weight", quantize(stored, kind), raw_dtype=kind)
            else:
                writer.add_tensor(f"{name}.weight", stored)
        if extra_tensor:
            writer.add_tensor(extra_tensor, np.zeros(4, dtype=np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    return write


def converted(gguf: Path, out: Path, dtype: Any = "float32") -> Path:
    out.mkdir()
    convert(gguf, out, dtype)
    return out


def load(folder: Path) -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder, local_files_only=True)


def test_the_original_rows_come_back(write_gguf: WriteGguf, tmp_path: Path, weights: Weights) -> None:
    from safetensors.numpy import load_file

    tensors = load_file(converted(write_gguf(), tmp_path / "out") / "model.safetensors")
    assert len(tensors) == len(weights)
    np.testing.assert_array_equal(tensors["model.embed_tokens.weight"], weights["token_embd"])
    np.testing.assert_array_equal(tensors["model.norm.weight"], weights["output_norm"])
    parts = {
        "attn_q": "self_attn.q_proj",
        "attn_k": "self_attn.k_proj",
        "attn_v": "self_attn.v_proj",
        "ffn_norm": "post_attention_layernorm",
        "ffn_down": "mlp.down_proj",
    }
    for gguf_name, hf_name in parts.items():
        for layer in range(LAYERS):
            expected = weights[f"blk.{layer}.{gguf_name}"]
            np.testing.assert_array_equal(tensors[f"model.layers.{layer}.{hf_name}.weight"], expected)


def test_q4_1_blocks_are_scale_times_value_plus_minimum(write_gguf: WriteGguf, tmp_path: Path) -> None:
    """Decode one tensor by hand: 32 values in 20 bytes, two half-precision numbers, then low and high nibbles."""
    from gguf import GGUFReader
    from safetensors.numpy import load_file

    path = write_gguf(quantised=True)
    tensors = load_file(converted(path, tmp_path / "out") / "model.safetensors")
    raw = next(t for t in GGUFReader(path).tensors if t.name == "blk.1.ffn_down.weight").data.reshape(-1, 20)
    scale, minimum = raw[:, :2].copy().view(np.float16), raw[:, 2:4].copy().view(np.float16)
    nibbles = np.concatenate([raw[:, 4:] & 15, raw[:, 4:] >> 4], axis=1)
    expected = scale.astype(np.float32) * nibbles + minimum.astype(np.float32)
    np.testing.assert_array_equal(tensors["model.layers.1.mlp.down_proj.weight"], expected.reshape(HIDDEN, INNER))


@pytest.mark.parametrize("quantised", [False, True])
def test_transformers_reads_the_same_model(write_gguf: WriteGguf, tmp_path: Path, *, quantised: bool) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    path = write_gguf(quantised=quantised)
    ours = load(converted(path, tmp_path / "out"))
    theirs = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    states = ours.state_dict(), theirs.state_dict()
    assert states[0].keys() == states[1].keys()
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    allowed = {"architectures", "rms_norm_eps", "_name_or_path", "_model_name_or_path", "unk_token_id"}
    ours_config, theirs_config = ours.config.to_dict(), theirs.config.to_dict()
    different = {key for key in ours_config | theirs_config if ours_config.get(key) != theirs_config.get(key)}
    assert different <= allowed
    assert ours.config.rms_norm_eps == 1e-5
    tokens = torch.tensor([[1, 50, 60, 70, 80, 2]])
    with torch.inference_mode():
        assert torch.equal(ours(tokens).logits, theirs(tokens).logits)


def test_an_output_matrix_of_its_own_is_kept(
    write_gguf: WriteGguf, tmp_path: Path, weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    matrix = weights["token_embd"][::-1].copy()
    monkeypatch.setitem(weights, "output", matrix)
    model = load(converted(write_gguf(), tmp_path / "out"))
    assert model.config.tie_word_embeddings is False
    assert torch.equal(model.lm_head.weight, torch.from_numpy(matrix))


def test_bfloat16_is_half_the_size_and_rounded(write_gguf: WriteGguf, tmp_path: Path, weights: Weights) -> None:
    import torch

    path = write_gguf()
    full, half = converted(path, tmp_path / "full"), converted(path, tmp_path / "half", "bfloat16")
    sizes = [(folder / "model.safetensors").stat().st_size for folder in (full, half)]
    assert 1.8 < sizes[0] / sizes[1] <= 2.0
    model = load(half)
    assert model.dtype == torch.bfloat16
    assert json.loads((half / "config.json").read_text(encoding="utf-8"))["dtype"] == "bfloat16"
    expected = torch.from_numpy(weights["blk.0.ffn_up"]).bfloat16()
    assert torch.equal(model.model.layers[0].mlp.up_proj.weight, expected)


def test_the_tokeniser_splits_digits_and_ends_turns(
    write_gguf: WriteGguf, tmp_path: Path, byte_tokens: list[str]
) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(converted(write_gguf(), tmp_path / "out"), local_files_only=True)
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id) == (1, 2, 2)
    assert tokenizer.model_max_length == 128
    # Without the digit split GPT-2's pattern would leave the last line break to the digit: Ċ Ċ 1.
    assert tokenizer.tokenize("\n\n12 an") == ["ĊĊ", "1", "2", "Ġan"]
    text = "Ends . like , this \t\n\n1. naïve 🙂"
    assert tokenizer.decode(tokenizer.encode(text)) == text
    rendered = tokenizer.apply_chat_template([{"role": "user", "content": "a"}], tokenize=True, return_dict=False)
    assert [byte_tokens[index] for index in rendered] == [
        "<|im_start|>", *"user", "Ċ", "a", "<|im_end|>", "Ċ",
    ]  # fmt: skip


def test_the_same_file_gives_the_same_bytes(write_gguf: WriteGguf, tmp_path: Path) -> None:
    path = write_gguf(quantised=True)
    first, second = converted(path, tmp_path / "a"), converted(path, tmp_path / "b")
    assert listing(first) == [
        "chat_template.jinja",
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    for name in listing(first):
        assert (first / name).read_bytes() == (second / name).read_bytes(), name
        assert str(tmp_path).encode() not in (first / name).read_bytes()
        assert (first / name).stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"arch": "falcon"}, "architecture 'falcon'"),
        ({"scaling": True}, "rope scaling"),
        ({"pre": "llama-bpe"}, "tokeniser gpt2/llama-bpe"),
        ({"drop": "blk.1.ffn_up"}, r"not those of a Llama \(model.layers.1.mlp.up_proj.weight\)"),
        ({"extra_tensor": "rope_freqs.weight"}, "tensor 'rope_freqs.weight'"),
        ({"extra_tensor": "blk.2.attn_norm.weight"}, "not those of a Llama"),
        ({"skip": ("add_eos_token_id",)}, "no end token"),
        ({"skip": ("add_pad_token_id",)}, "no padding token"),
        ({"skip": ("add_chat_template",)}, "no chat template"),
        ({"skip": ("add_head_count_kv",)}, "without llama.attention.head_count_kv"),
        ({"skip": ("add_block_count",)}, "without llama.block_count"),
        ({"skip": ("add_context_length",)}, "without llama.context_length"),
    ],
)
def test_what_cannot_be_converted_is_refused_by_name(
    change: dict[str, Any], complaint: str, write_gguf: WriteGguf, tmp_path: Path
) -> None:
    path = write_gguf(**change)
    with pytest.raises(EnvironmentMismatch, match=complaint):
        converted(path, tmp_path / "out")


@pytest.mark.parametrize("kept", [0, 3, 100, 5000, -1000])
def test_a_cut_off_file_is_an_environment_error(kept: int, write_gguf: WriteGguf, tmp_path: Path) -> None:
    path = write_gguf()
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(EnvironmentMismatch, match="not a whole GGUF file"):
        converted(path, tmp_path / "out")


def test_the_disk_is_checked_for_the_converted_size(
    write_gguf: WriteGguf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_gguf()
    usage = shutil._ntuple_diskusage(total=10**12, used=0, free=64 * 2**20)  # type: ignore[attr-defined]
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)
    with pytest.raises(EnvironmentMismatch, match="for the converted weights"):
        converted(path, tmp_path / "out")
    assert not (tmp_path / "out" / "model.safetensors").exists()

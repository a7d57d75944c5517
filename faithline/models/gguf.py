r"""GGUF files of Llama models turned into a folder in Hugging Face layout: safetensors, configuration, tokeniser.

Tensors are dequantised one by one, renamed, and the rotary halves of queries and keys, which GGUF interleaves, are put
back. transformers can read such a file too, but parses it three times (47 s of processor time against 14 s for 135 M
parameters), leaves a quantisation entry that makes saving fail, and loses end token, padding token and the digit split
of the tokeniser. The tests hold this conversion against it, byte by byte.
Q4_1 values are scale * q + minimum in half precision: exact in float32, not in bfloat16.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faithline.models.folder import SINGLE
from faithline.models.gguf_tokenizer import special_ids, write_tokenizer
from faithline.models.spec import Dtype
from faithline.pipeline.errors import EnvironmentMismatch
from faithline.pipeline.machine import require_space
from faithline.pipeline.records import write_json

if TYPE_CHECKING:
    import numpy as np
    import torch
    from gguf import ReaderTensor

_ITEM_BYTES: Mapping[Dtype, int] = {"float32": 4, "bfloat16": 2}
_TOP = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_REQUIRED = (
    "llama.block_count",
    "llama.context_length",
    "llama.embedding_length",
    "llama.feed_forward_length",
    "llama.attention.head_count",
    "llama.attention.head_count_kv",
    "llama.attention.layer_norm_rms_epsilon",
    "llama.rope.freq_base",
    "tokenizer.ggml.tokens",
    "tokenizer.ggml.token_type",
    "tokenizer.ggml.merges",
)
_NAME = re.compile(r"(?:blk\.(?P<layer>\d+)\.)?(?P<part>\w+)\.weight")


@dataclass(frozen=True)
class _File:
    """A parsed header; tensors are mapped from disk, not read."""

    name: str
    metadata: Mapping[str, Any]
    tensors: Mapping[str, ReaderTensor]
    """Name in Hugging Face layout → tensor."""


def convert(gguf: Path, out: Path, dtype: Dtype) -> None:
    """Write the model of a GGUF file to `out`.

    Args:
        gguf: The file.
        out: An existing folder.
        dtype: Number type of the stored weights.

    Raises:
        EnvironmentMismatch: If the file is damaged, of a kind not supported, or too large for the disk.
    """
    from safetensors.torch import save_file

    file = _read(gguf)
    heads = _heads(file)
    write_tokenizer(file.metadata, out, file.name)
    elements = sum(int(tensor.n_elements) for tensor in file.tensors.values())
    require_space(out, elements * _ITEM_BYTES[dtype], "for the converted weights")
    weights = {name: _weights(name, tensor, heads, dtype) for name, tensor in sorted(file.tensors.items())}
    save_file(weights, out / SINGLE, metadata={"format": "pt"})
    (out / SINGLE).chmod(0o644)  # safetensors creates it readable by its owner alone
    write_json(out / "config.json", _config(file, dtype))
    write_json(out / "generation_config.json", special_ids(file.metadata))


def _read(gguf: Path) -> _File:
    from gguf import GGUFReader

    try:
        reader = GGUFReader(gguf)
        metadata = {name: field.contents() for name, field in reader.fields.items()}
    except (ValueError, KeyError, IndexError) as error:
        raise EnvironmentMismatch(
            f"not a whole GGUF file: {error}", where=gguf.name, next_step="check `member` and the wheel's digest"
        ) from None
    if metadata.get("general.architecture") != "llama" or any(".rope.scaling." in key for key in metadata):
        raise _unsupported(f"architecture {metadata.get('general.architecture')!r} or its rope scaling", gguf.name)
    missing = [key for key in _REQUIRED if key not in metadata]
    if missing:
        raise _unsupported(f"a file without {', '.join(missing)}", gguf.name)
    tensors = {_hf_name(tensor.name, gguf.name): tensor for tensor in reader.tensors}
    layers = range(metadata["llama.block_count"])
    expected = {f"model.layers.{layer}.{part}.weight" for layer in layers for part in _LAYER.values()}
    expected |= {"model.embed_tokens.weight", "model.norm.weight"}
    if set(tensors) - {"lm_head.weight"} != expected:
        odd = sorted((set(tensors) - {"lm_head.weight"}) ^ expected)
        raise _unsupported(f"a model whose tensors are not those of a Llama ({', '.join(odd[:4])})", gguf.name)
    return _File(name=gguf.name, metadata=metadata, tensors=tensors)


def _hf_name(name: str, where: str) -> str:
    match = _NAME.fullmatch(name)
    layer, part = (match["layer"], match["part"]) if match else (None, "")
    renamed = _TOP.get(part) if layer is None else _LAYER.get(part)
    if renamed is None:
        raise _unsupported(f"tensor {name!r}", where)
    return f"{renamed}.weight" if layer is None else f"model.layers.{layer}.{renamed}.weight"


def _heads(file: _File) -> dict[str, int]:
    """Number of attention heads in the projections whose rows GGUF has interleaved."""
    return {
        "q_proj": file.metadata["llama.attention.head_count"],
        "k_proj": file.metadata["llama.attention.head_count_kv"],
    }


def _config(file: _File, dtype: Dtype) -> dict[str, object]:
    import numpy as np

    heads = _heads(file)
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": dtype,
        "vocab_size": len(file.metadata["tokenizer.ggml.tokens"]),
        "hidden_size": file.metadata["llama.embedding_length"],
        "intermediate_size": file.metadata["llama.feed_forward_length"],
        "num_hidden_layers": file.metadata["llama.block_count"],
        "num_attention_heads": heads["q_proj"],
        "num_key_value_heads": heads["k_proj"],
        "head_dim": file.metadata["llama.embedding_length"] // heads["q_proj"],
        "max_position_embeddings": file.metadata["llama.context_length"],
        "rope_theta": file.metadata["llama.rope.freq_base"],
        # Stored in single precision: 1e-05 comes back as 9.999999747378752e-06.
        "rms_norm_eps": float(str(np.float32(file.metadata["llama.attention.layer_norm_rms_epsilon"]))),
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": "lm_head.weight" not in file.tensors,
        **special_ids(file.metadata),
    }


def _weights(name: str, tensor: ReaderTensor, heads: Mapping[str, int], dtype: Dtype) -> torch.Tensor:
    import numpy as np
    import torch
    from gguf import dequantize

    values = dequantize(tensor.data, tensor.tensor_type)
    projection = name.split(".")[-2]
    if projection in heads:
        values = _rotary_halves(values, heads[projection])
    return torch.from_numpy(np.array(values, dtype=np.float32, order="C")).to(getattr(torch, dtype))


def _rotary_halves(values: np.ndarray, heads: int) -> np.ndarray:
    """Undo GGUF's interleaving of the two rotary halves; `values` is (heads * head_dim, hidden)."""
    rows, columns = values.shape
    return values.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def _unsupported(what: str, where: str) -> EnvironmentMismatch:
    return EnvironmentMismatch(
        f"{what} cannot be converted from GGUF",
        where=where,
        next_step="choose a source with safetensors for this model",
    )

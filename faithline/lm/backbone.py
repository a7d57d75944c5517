"""The backbone: a causal language model and its tokeniser, read from a local folder, with or without a LoRA adapter.

Owns how a model is loaded (local files, safetensors, no remote code), which device and number type it runs on, and the
fingerprint that ties an adapter to the backbone it was trained on. `auto` means: CUDA when there is one, bfloat16 there
and float32 on a CPU (bfloat16 decoding on an AVX2 CPU was measured at 0.9 against 15 tokens/s).
A loaded backbone is in evaluation mode; whoever trains it switches that on and off.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch

from faithline.pipeline.errors import Diverged, EnvironmentMismatch
from faithline.pipeline.records import file_digest, write_json

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

__all__ = [
    "BASE_FILE",
    "Backbone",
    "Device",
    "Dtype",
    "choose_device",
    "choose_dtype",
    "fingerprint",
    "load",
    "load_tokenizer",
    "require_base",
    "write_base",
]

Device = Literal["auto", "cpu", "cuda"]
Dtype = Literal["auto", "float32", "bfloat16"]

BASE_FILE = "backbone.json"
"""File in an adapter folder that names the backbone the adapter was trained on."""

# Fields of config.json that say how a copy was stored or by what, not what the network computes.
_CIRCUMSTANCE = frozenset(
    {"_name_or_path", "architectures", "dtype", "torch_dtype", "transformers_version", "use_cache"}
)
_TOKENIZER_FILES = ("tokenizer.json", "chat_template.jinja")


@dataclass(frozen=True)
class Backbone:
    """A model ready to run."""

    model: PreTrainedModel
    """Evaluation mode, on `device`. A `PeftModel` when an adapter was loaded and not merged."""
    tokenizer: PreTrainedTokenizerFast
    device: torch.device
    dtype: torch.dtype


def choose_device(device: Device) -> torch.device:
    """Turn a setting into a device.

    Raises:
        EnvironmentMismatch: `cuda` was asked for and there is none.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise EnvironmentMismatch(
            "no CUDA device is visible",
            where="device: cuda",
            next_step="set device to auto or cpu, or run on a GPU pool",
        )
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(device)


def choose_dtype(dtype: Dtype, device: torch.device) -> torch.dtype:
    """Turn a setting into a number type; `auto` is bfloat16 on GPUs that compute it, float32 elsewhere."""
    if dtype == "auto":
        return torch.bfloat16 if device.type == "cuda" and torch.cuda.is_bf16_supported() else torch.float32
    return {"float32": torch.float32, "bfloat16": torch.bfloat16}[dtype]


def load_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    """Read the tokeniser of a backbone folder.

    Raises:
        EnvironmentMismatch: The folder holds none, or one without a chat template or an end token.
    """
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    _require(folder, "tokenizer.json")
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    if not isinstance(tokenizer, PreTrainedTokenizerFast) or not tokenizer.chat_template or tokenizer.eos_token is None:
        raise EnvironmentMismatch(
            "the tokeniser has no chat template or no end token",
            where=str(folder),
            next_step="use the instruction-tuned variant of the model",
        )
    return tokenizer


def load(folder: Path, *, device: Device, dtype: Dtype, adapter: Path | None = None, merge: bool = False) -> Backbone:
    """Read a backbone and, if given, a PEFT adapter trained on it.

    Args:
        folder: Model folder in Hugging Face layout with safetensors weights.
        device: Where to run.
        dtype: Number type of the weights.
        adapter: PEFT folder with a `backbone.json`; checked against the fingerprint of `folder`.
        merge: Add the adapter into the weights (faster decoding; no adapter left to train or switch off).

    Raises:
        EnvironmentMismatch: A folder or file is missing, or the adapter belongs to another backbone.
        Diverged: The adapter's weights are not finite.
    """
    from transformers import AutoModelForCausalLM

    from faithline.lm import attention

    _require(folder, "config.json")
    _weights(folder)
    if adapter is not None:
        require_base(adapter, folder)
    place = choose_device(device)
    number = choose_dtype(dtype, place)
    # Untyped: transformers and peft wrap `to` and return unions that strict typing cannot follow.
    model: Any = AutoModelForCausalLM.from_pretrained(
        folder, dtype=number, local_files_only=True, use_safetensors=True, attn_implementation=attention.NAME
    )
    if adapter is not None:
        model = _adapted(model, adapter, merge=merge)
    return Backbone(model=model.to(place).eval(), tokenizer=load_tokenizer(folder), device=place, dtype=number)


def _adapted(model: Any, adapter: Path, *, merge: bool) -> Any:
    from peft import PeftModel

    adapted = PeftModel.from_pretrained(model, str(adapter), is_trainable=False, local_files_only=True)
    if not merge:
        return adapted
    try:
        return adapted.merge_and_unload(safe_merge=True)
    except ValueError as error:
        raise Diverged(
            f"the adapter cannot be merged: {error}",
            where=str(adapter),
            next_step="train it again with a lower learning rate",
        ) from error


def fingerprint(folder: Path) -> str:
    """Identify a backbone by what it computes: SHA-256, hex.

    Covers the architecture fields of `config.json`, the bytes of every safetensors file, the tokeniser and its chat
    template (an adapter has learned token ids and turns, not words). The bytes are always read (about 1 s per GB):
    a `record.json` could be cheaper but would vouch for files that were changed after it.
    """
    _require(folder, "config.json")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    kept = {key: value for key, value in config.items() if key not in _CIRCUMSTANCE}
    parts = [json.dumps(kept, sort_keys=True)]
    files = [*_weights(folder), *(folder / name for name in _TOKENIZER_FILES if (folder / name).is_file())]
    parts += [f"{file.name} {file_digest(file)}" for file in files]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def write_base(adapter: Path, folder: Path) -> None:
    """Note in an adapter folder which backbone it was trained on."""
    write_json(adapter / BASE_FILE, {"fingerprint": fingerprint(folder)})


def require_base(adapter: Path, folder: Path) -> None:
    """Check that an adapter was trained on this backbone.

    Raises:
        EnvironmentMismatch: There is no adapter, no note of its backbone, or the backbone is another one.
    """
    for name in ("adapter_config.json", "adapter_model.safetensors", BASE_FILE):
        _require(adapter, name)
    try:
        trained_on = json.loads((adapter / BASE_FILE).read_text(encoding="utf-8"))["fingerprint"]
    except (ValueError, KeyError, TypeError) as error:
        raise EnvironmentMismatch(
            "the adapter does not say which backbone it belongs to",
            where=str(adapter / BASE_FILE),
            next_step="train the adapter again",
        ) from error
    found = fingerprint(folder)
    if trained_on != found:
        raise EnvironmentMismatch(
            f"the adapter was trained on another backbone ({trained_on[:12]}, not {found[:12]})",
            where=f"{adapter} on {folder}",
            next_step="run `dvc repro` to train the adapter on this backbone, or restore the former backbone",
        )


def _weights(folder: Path) -> list[Path]:
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise EnvironmentMismatch(
            "no safetensors weights",
            where=str(folder),
            next_step="run the stage fetch_models; weights in other formats are refused",
        )
    return files


def _require(folder: Path, name: str) -> None:
    if not (folder / name).is_file():
        raise EnvironmentMismatch(
            f"`{name}` is missing", where=str(folder), next_step="run `dvc repro` for the stage that makes this folder"
        )

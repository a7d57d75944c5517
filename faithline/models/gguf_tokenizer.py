r"""The tokeniser of a GGUF file, built from the vocabulary and merges it holds.

It follows the original `tokenizer.json` of the SmolLM family: digits are split one by one before GPT-2's byte-level
pattern, there is no normaliser, no unknown token (bytes outside the alphabet are dropped), and nothing is added around
a text. transformers' own reader loses the digit split, so that "\n\n1." gets other tokens than in training, takes
`<|im_start|>` for the end token, and tidies spaces when decoding, that is, changes text.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faithline.pipeline.errors import EnvironmentMismatch
from faithline.pipeline.records import write_json

if TYPE_CHECKING:
    from tokenizers import Tokenizer  # type: ignore[import-untyped]

_CONTROL = 3
"""Type of special tokens in `tokenizer.ggml.token_type`."""


def special_ids(metadata: Mapping[str, Any]) -> dict[str, int]:
    """Ids of the start, end and padding tokens, as configurations name them."""
    names = {"bos_token_id": "bos", "eos_token_id": "eos", "pad_token_id": "padding"}
    ids = {key: metadata.get(f"tokenizer.ggml.{name}_token_id") for key, name in names.items()}
    return {key: index for key, index in ids.items() if index is not None}


def write_tokenizer(metadata: Mapping[str, Any], out: Path, where: str) -> None:
    """Write `tokenizer.json`, `tokenizer_config.json` and the chat template.

    Raises:
        EnvironmentMismatch: If the file holds another kind of tokeniser, or no end token, padding token or template.
    """
    kind = (metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre"))
    if kind != ("gpt2", "smollm") or metadata.get("tokenizer.ggml.add_bos_token"):
        raise EnvironmentMismatch(
            f"tokeniser {'/'.join(map(str, kind))} is not supported from GGUF",
            where=where,
            next_step="choose a source with safetensors and a tokenizer.json for this model",
        )
    ids = special_ids(metadata)
    template = metadata.get("tokenizer.chat_template")
    if not {"eos_token_id", "pad_token_id"} <= set(ids) or not template:
        raise EnvironmentMismatch(
            "the file names no end token, no padding token, or no chat template",
            where=where,
            next_step="use the instruction-tuned variant of the model, or a source with safetensors",
        )
    tokens = metadata["tokenizer.ggml.tokens"]
    _byte_level_bpe(metadata).save(str(out / "tokenizer.json"))
    (out / "chat_template.jinja").write_text(template, encoding="utf-8")
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",  # a name that transformers 4 and 5 both know
        "model_max_length": metadata["llama.context_length"],
        "clean_up_tokenization_spaces": False,
    }
    unknown = metadata.get("tokenizer.ggml.unknown_token_id")
    ids |= {} if unknown is None else {"unk_token_id": unknown}
    names = {key.removesuffix("_id"): tokens[index] for key, index in ids.items()}
    write_json(out / "tokenizer_config.json", settings | names)


def _byte_level_bpe(metadata: Mapping[str, Any]) -> Tokenizer:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    tokens = metadata["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in metadata["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE(vocab={token: index for index, token in enumerate(tokens)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    kinds = zip(tokens, metadata["tokenizer.ggml.token_type"], strict=True)
    special = [AddedToken(token, special=True, normalized=False) for token, kind in kinds if kind == _CONTROL]
    tokenizer.add_special_tokens(special)
    return tokenizer

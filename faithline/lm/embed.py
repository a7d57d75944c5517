"""The sentence encoder: texts to vectors, from a folder in sentence-transformers layout.

Pooling and normalisation are the folder's affair (`modules.json`, `1_Pooling/config.json`): they are read, never
guessed, and belong to the encoder's fingerprint. A vector depends on its own text only: batches are cut from texts
sorted by length under a budget of padded tokens, and padding takes no part in attention or pooling.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch

from faithline.lm import backbone
from faithline.pipeline.errors import DataInvalid, EnvironmentMismatch

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

__all__ = ["Embedded", "Encoder", "Recipe", "fingerprint", "load_encoder", "read_recipe"]

_WINDOW = 16_384
"""Texts tokenised and sorted at a time: enough for even batches, few enough for any corpus size."""


@dataclass(frozen=True)
class Recipe:
    """How token vectors become one vector."""

    pooling: Literal["mean", "cls"]
    normalise: bool
    """Scale to length 1, so that an inner product is a cosine."""


@dataclass(frozen=True)
class Embedded:
    """Vectors of some texts, in the texts' order."""

    vectors: NDArray[np.float32]
    """[texts, dim]."""
    tokens: NDArray[np.int64]
    """[texts]: tokens read, special ones included."""
    truncated: int
    """Texts that lost their end to the length limit."""


def read_recipe(folder: Path) -> Recipe:
    """Read pooling and normalisation of an encoder folder.

    Raises:
        EnvironmentMismatch: The folder does not say, or asks for what this encoder does not do.
    """
    modules = _read(folder / "modules.json")
    kinds = [str(module["type"]).rpartition(".")[2] for module in modules]
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise EnvironmentMismatch(
            f"the encoder is a chain of other modules: {', '.join(kinds)}",
            where=str(folder / "modules.json"),
            next_step="use an encoder made of Transformer, Pooling and, if wanted, Normalize",
        )
    place = folder / str(modules[1]["path"]) / "config.json"
    modes = [key for key, on in _read(place).items() if key.startswith("pooling_mode_") and on is True]
    if modes not in (["pooling_mode_mean_tokens"], ["pooling_mode_cls_token"]):
        raise EnvironmentMismatch(
            f"unsupported pooling: {', '.join(modes) or 'none'}",
            where=str(place),
            next_step="use an encoder with mean or cls pooling",
        )
    return Recipe(pooling="mean" if modes[0] == "pooling_mode_mean_tokens" else "cls", normalise=len(kinds) == 3)


def fingerprint(folder: Path) -> str:
    """Identify an encoder by what it computes: weights, tokeniser and recipe; SHA-256, hex."""
    recipe = read_recipe(folder)
    text = f"{backbone.fingerprint(folder)} {recipe.pooling} {recipe.normalise}"
    return hashlib.sha256(text.encode()).hexdigest()


def load_encoder(folder: Path, *, device: backbone.Device, max_length: int, tokens_per_batch: int) -> Encoder:
    """Read an encoder from a local folder.

    Args:
        folder: Encoder folder with safetensors weights.
        device: Where to run; always in float32, for half precision moves cosines in the third decimal.
        max_length: Tokens read of a text, special ones included.
        tokens_per_batch: Budget of a batch, padding included.

    Raises:
        EnvironmentMismatch: A file is missing, the recipe is not supported, or the network has no place for
            `max_length` tokens.
    """
    from transformers import AutoModel, AutoTokenizer, PreTrainedTokenizerFast

    recipe = read_recipe(folder)
    if not any(folder.glob("*.safetensors")):
        raise EnvironmentMismatch("no safetensors weights", where=str(folder), next_step="run the stage fetch_models")
    place = backbone.choose_device(device)
    model = AutoModel.from_pretrained(
        folder, dtype=torch.float32, local_files_only=True, use_safetensors=True, attn_implementation="sdpa"
    )
    positions = int(getattr(model.config, "max_position_embeddings", max_length))
    if max_length > positions:
        raise EnvironmentMismatch(
            f"max_length {max_length} is more than the {positions} tokens the encoder can read",
            where=str(folder),
            next_step=f"set max_length to {positions} or less",
        )
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise EnvironmentMismatch(
            "the encoder has no fast tokeniser", where=str(folder), next_step="use a folder with tokenizer.json"
        )
    return Encoder(model.to(place).eval(), tokenizer, recipe, max_length, tokens_per_batch)


class Encoder:
    """A loaded encoder; see `load_encoder`."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerFast,
        recipe: Recipe,
        max_length: int,
        tokens_per_batch: int,
    ) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self.recipe = recipe
        self.max_length = max_length
        self.tokens_per_batch = tokens_per_batch
        self.dim = int(model.config.hidden_size)

    def encode(self, texts: Sequence[str], advance: Callable[[int], None] | None = None) -> Embedded:
        """Embed texts.

        Args:
            texts: Any number; an empty text is the special tokens alone.
            advance: Told after each batch how many more texts are done.

        Raises:
            DataInvalid: A vector is not finite.
        """
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        lengths = np.empty(len(texts), dtype=np.int64)
        truncated = 0
        for start in range(0, len(texts), _WINDOW):
            window = slice(start, start + _WINDOW)
            ids, cut = self._tokenise(list(texts[window]))
            lengths[window] = [len(row) for row in ids]
            truncated += cut
            for batch in _batches(lengths[window], self.tokens_per_batch):
                vectors[start + batch] = self._forward([ids[row] for row in batch])
                if advance is not None:
                    advance(len(batch))
        if not np.isfinite(vectors).all():
            row = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
            raise DataInvalid(
                "the encoder gives a vector that is not finite",
                where=repr(texts[row][:80]),
                next_step="check the encoder's weights: run fetch_models again",
            )
        return Embedded(vectors=vectors, tokens=lengths, truncated=truncated)

    def _tokenise(self, texts: list[str]) -> tuple[list[list[int]], int]:
        """Token ids of each text, and how many texts were cut."""
        encoded = self._tokenizer(texts, truncation=True, max_length=self.max_length)
        rows: list[list[int]] = encoded["input_ids"]
        return rows, sum(bool(encoding.overflowing) for encoding in encoded.encodings or ())

    @torch.inference_mode()
    def _forward(self, rows: list[list[int]]) -> NDArray[np.float32]:
        """Vectors [rows, dim] of one batch of token ids."""
        length = np.array([len(row) for row in rows])
        mask = np.arange(length.max()) < length[:, None]
        ids = np.full(mask.shape, self._tokenizer.pad_token_id or 0, dtype=np.int64)
        ids[mask] = np.concatenate(rows)
        device = self._model.device
        attention = torch.from_numpy(mask).to(device)
        hidden = self._model(
            input_ids=torch.from_numpy(ids).to(device), attention_mask=attention.long()
        ).last_hidden_state
        if self.recipe.pooling == "cls":
            pooled = hidden[:, 0]
        else:
            weight = attention.to(hidden.dtype).unsqueeze(-1)
            pooled = (hidden * weight).sum(dim=1) / weight.sum(dim=1)
        if self.recipe.normalise:
            pooled = torch.nn.functional.normalize(pooled, dim=1)
        vectors: NDArray[np.float32] = pooled.cpu().numpy()
        return vectors


def _batches(lengths: NDArray[np.int64], budget: int) -> Iterator[NDArray[np.int64]]:
    """Yield row numbers, longest first, so that rows × longest stay within the budget; one row at least."""
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        count = max(1, budget // max(1, int(lengths[order[start]])))
        yield order[start : start + count]
        start += count


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise EnvironmentMismatch(
            "the encoder's folder does not say how it pools",
            where=str(path),
            next_step="run the stage fetch_models, or use an encoder in sentence-transformers layout",
        ) from error

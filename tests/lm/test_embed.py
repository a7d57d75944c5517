"""The sentence encoder: vectors against a plain loop, whatever the batch, and what is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoTokenizer

from faithline.lm import embed
from faithline.pipeline.errors import DataInvalid, EnvironmentMismatch

TEXTS = ["", "a", "the cat sat on the mat", "x " * 100, "42 is 6 x 7!", "The CAT sat on the mat", "b c d", "é ß 中"]


@pytest.fixture
def folder(tiny_embedder: Path, tmp_path: Path) -> Path:
    """A copy of the tiny encoder to change."""
    return Path(shutil.copytree(tiny_embedder, tmp_path / "embedder"))


def load(folder: Path, max_length: int = 32, tokens_per_batch: int = 100) -> embed.Encoder:
    return embed.load_encoder(folder, device="cpu", max_length=max_length, tokens_per_batch=tokens_per_batch)


def one_by_one(folder: Path, texts: list[str], max_length: int, pooling: str, normalise: bool) -> Any:
    """Each text alone through plain transformers, so without any padding; float64 pooling."""
    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    vectors = []
    for text in texts:
        with torch.no_grad():
            encoded = tokenizer(text, truncation=True, max_length=max_length, return_tensors="pt")
            hidden = model(**encoded).last_hidden_state[0].double().numpy()
        vector = hidden.mean(axis=0) if pooling == "mean" else hidden[0]
        vectors.append(vector / np.sqrt((vector**2).sum()) if normalise else vector)
    return np.array(vectors)


def set_pooling(folder: Path, **modes: bool) -> None:
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 32} | modes))


def set_modules(folder: Path, *kinds: str) -> None:
    paths = {"Transformer": "", "Pooling": "1_Pooling"}
    modules = [{"path": paths.get(kind, "x"), "type": f"sentence_transformers.models.{kind}"} for kind in kinds]
    (folder / "modules.json").write_text(json.dumps(modules))


@pytest.mark.parametrize("tokens_per_batch", [1, 70, 10_000])
@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("normalise", [True, False])
def test_vectors_equal_those_of_texts_alone(folder: Path, tokens_per_batch: int, pooling: str, normalise: bool) -> None:
    set_pooling(folder, pooling_mode_mean_tokens=pooling == "mean", pooling_mode_cls_token=pooling == "cls")
    set_modules(folder, "Transformer", "Pooling", *(["Normalize"] if normalise else []))
    embedded = load(folder, tokens_per_batch=tokens_per_batch).encode(TEXTS)
    expected = one_by_one(folder, TEXTS, 32, pooling, normalise)
    np.testing.assert_allclose(embedded.vectors, expected, atol=1e-5)
    assert embedded.vectors.dtype == np.float32
    # By hand: two special tokens and one per letter, digit or sign (all words are spelled), cut at 32.
    assert embedded.tokens.tolist()[:5] == [2, 3, 19, 32, 10]
    assert embedded.truncated == 1


@settings(max_examples=15)
@given(
    texts=st.lists(st.text("abc 12", max_size=50), min_size=1, max_size=12), budget=st.integers(1, 300), data=st.data()
)
def test_a_vector_depends_on_its_own_text_only(
    tiny_embedder: Path, texts: list[str], budget: int, data: st.DataObject
) -> None:
    encoder = load(tiny_embedder, tokens_per_batch=budget)
    order = data.draw(st.permutations(range(len(texts))))
    together = encoder.encode(texts).vectors
    shuffled = encoder.encode([texts[place] for place in order]).vectors
    np.testing.assert_allclose(shuffled, together[list(order)], atol=1e-5)
    np.testing.assert_allclose(together, np.concatenate([encoder.encode([t]).vectors for t in texts]), atol=1e-5)


def test_batches_keep_the_token_budget(tiny_embedder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = load(tiny_embedder, tokens_per_batch=64)
    shapes: list[tuple[int, int]] = []
    forward = encoder._forward

    def spy(rows: list[list[int]]) -> Any:
        shapes.append((len(rows), max(map(len, rows))))
        return forward(rows)

    monkeypatch.setattr(encoder, "_forward", spy)
    done: list[int] = []
    encoder.encode(["a" * n for n in (0, 5, 40, 5, 1, 0, 9, 30)], done.append)
    assert all(rows * longest <= 64 or rows == 1 for rows, longest in shapes)
    # By hand: lengths 32 32 | 11 7 7 3 2 2 under 64 tokens: 2 of 32, then 5 of 11, then the last.
    assert shapes == [(2, 32), (5, 11), (1, 2)]
    assert done == [2, 5, 1]


def test_windows_do_not_show(tiny_embedder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = load(tiny_embedder)
    whole = encoder.encode(TEXTS)
    monkeypatch.setattr(embed, "_WINDOW", 3)
    pieces = encoder.encode(TEXTS)
    np.testing.assert_allclose(pieces.vectors, whole.vectors, atol=1e-6)
    assert (pieces.tokens.tolist(), pieces.truncated) == (whole.tokens.tolist(), whole.truncated)


def test_nothing_to_embed(tiny_embedder: Path) -> None:
    embedded = load(tiny_embedder).encode([])
    assert (embedded.vectors.shape, len(embedded.tokens), embedded.truncated) == ((0, 32), 0, 0)


def test_broken_weights_are_reported(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["embeddings.word_embeddings.weight"][5:] = float("nan")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(DataInvalid, match="not finite"):
        load(folder).encode(["a"])


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda folder: (folder / "modules.json").unlink(), "how it pools"),
        (lambda folder: (folder / "1_Pooling/config.json").write_text("{"), "how it pools"),
        (lambda folder: set_modules(folder, "Transformer", "Pooling", "Dense", "Normalize"), "Dense"),
        (
            lambda folder: set_pooling(folder, pooling_mode_max_tokens=True),
            "unsupported pooling: pooling_mode_max_tokens",
        ),
        (lambda folder: set_pooling(folder, pooling_mode_mean_tokens=True, pooling_mode_cls_token=True), "unsupported"),
        (set_pooling, "unsupported pooling: none"),
        (lambda folder: (folder / "model.safetensors").unlink(), "safetensors"),
    ],
)
def test_what_is_refused(folder: Path, spoil: Callable[[Path], object], words: str) -> None:
    spoil(folder)
    with pytest.raises(EnvironmentMismatch, match=words):
        load(folder)


def test_more_tokens_than_positions_are_refused(tiny_embedder: Path) -> None:
    assert load(tiny_embedder, max_length=64).encode(["a" * 100]).tokens.tolist() == [64]
    with pytest.raises(EnvironmentMismatch, match="65 is more than the 64"):
        load(tiny_embedder, max_length=65)


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: set_pooling(folder, pooling_mode_cls_token=True),
        lambda folder: set_modules(folder, "Transformer", "Pooling"),
        lambda folder: (folder / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes() + b" "),
    ],
)
def test_the_fingerprint_sees_what_is_computed(
    tiny_embedder: Path, folder: Path, change: Callable[[Path], object]
) -> None:
    assert embed.fingerprint(folder) == embed.fingerprint(tiny_embedder)
    change(folder)
    assert embed.fingerprint(folder) != embed.fingerprint(tiny_embedder)

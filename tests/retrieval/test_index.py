"""The dense index: exact against a full sort, tied to its encoder and corpus, mapped rather than read."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from faithline.lm import embed
from faithline.pipeline.errors import DataInvalid, EnvironmentMismatch
from faithline.retrieval import index

IDS = ["s/a", "s/b", "s/c", "s/d", "s/e"]


class Fixed:
    """Stands in for the encoder: a question is the name of one axis, or a number to draw a vector from."""

    def encode(self, texts: list[str]) -> embed.Embedded:
        vectors = np.array([self.vector(text) for text in texts], dtype=np.float32).reshape(len(texts), 4)
        return embed.Embedded(vectors, np.ones(len(texts), dtype=np.int64), 0)

    @staticmethod
    def vector(text: str) -> Any:
        return np.eye(4)["xyzw".index(text)] * 3 if text in "xyzw" else np.random.default_rng(int(text)).normal(size=4)


def meta_for(ids: list[str], dim: int = 4, **changes: Any) -> index.Meta:
    fields = {"encoder": "e", "corpus": index.corpus_digest(ids), "documents": len(ids), "dim": dim, "dtype": "float32"}
    return index.Meta(**(fields | {"max_length": 32, "tokens_per_batch": 100} | changes))


def opened(vectors: Any, ids: list[str] = IDS) -> index.Index:
    return index.Index(meta_for(ids), pa.array(ids), np.asarray(vectors, dtype=np.float32), Fixed())  # type: ignore[arg-type]


VECTORS = [[2, 0, 0, 0], [0, 5, 0, 0], [1, 1, 0, 0], [0, 0, -1, 0], [3, 4, 0, 0]]


def test_similarity_is_the_cosine_in_the_candidates_order() -> None:
    first, second, third = opened(VECTORS).similarity(["x", "y", "z"], [["s/e", "s/a", "s/c"], [], ["s/d", "s/d"]])
    # By hand: 3/5, 1, 1/sqrt(2); nothing; -1 twice.
    np.testing.assert_allclose(first, [0.6, 1.0, 2**-0.5], atol=1e-6)
    assert second.shape == (0,)
    assert third.tolist() == [-1.0, -1.0]
    assert opened(VECTORS).similarity([], []) == []


def test_an_unknown_candidate_is_named() -> None:
    with pytest.raises(DataInvalid, match="1 candidates are not in the index, first s/q"):
        opened(VECTORS).similarity(["x"], [["s/a", "s/q"]])


def test_search_by_hand_with_a_tie() -> None:
    hits = opened(VECTORS).search(["x", "z"], 3)
    # x: a 1, c 0.71, e 0.6. z: a, b, c, e are all 0, and come in the order of their ids; d is -1.
    assert hits.ids == [["s/a", "s/c", "s/e"], ["s/a", "s/b", "s/c"]]
    np.testing.assert_allclose(hits.scores, [[1, 2**-0.5, 0.6], [0, 0, 0]], atol=1e-6)
    assert opened(VECTORS).search(["x"], 99).ids == [["s/a", "s/c", "s/e", "s/b", "s/d"]]
    assert opened(VECTORS).search([], 2).ids == []
    with pytest.raises(ValueError, match="at least 1"):
        opened(VECTORS).search(["x"], 0)


@settings(max_examples=60)
@given(
    documents=st.integers(1, 40), queries=st.integers(1, 5), k=st.integers(1, 12), chunk=st.integers(1, 15),
    distinct=st.integers(1, 6), seed=st.integers(0, 99),
)  # fmt: skip
def test_search_equals_a_full_stable_sort(
    documents: int, queries: int, k: int, chunk: int, distinct: int, seed: int
) -> None:
    """Few distinct vectors make many ties; chunks of any size must not show."""
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(distinct, 4))[random.integers(distinct, size=documents)]
    ids = [f"s/{number:03}" for number in range(documents)]
    questions = [str(number) for number in range(queries)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "_CHUNK", chunk)
        patch.setattr(index, "_QUERIES", 2)
        hits = opened(vectors, ids).search(questions, k)
    unit = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float64)
    for question, found, scores in zip(questions, hits.ids, hits.scores, strict=True):
        query = Fixed.vector(question)
        exact = unit @ (query / np.linalg.norm(query))
        # Rounded, so that equal vectors tie here too.
        order = sorted(range(documents), key=lambda row: (-round(exact[row], 9), row))[:k]
        np.testing.assert_allclose(scores, exact[order], atol=1e-5)
        gaps = np.abs(np.subtract.outer(np.unique(exact.round(9)), np.unique(exact.round(9))))
        if not ((gaps > 0) & (gaps < 1e-4)).any():  # else float32 may order two distinct scores the other way round
            assert found == [ids[row] for row in order]


def test_corpus_digest_is_of_the_set_of_ids() -> None:
    digests = {index.corpus_digest(list(order)) for order in itertools.permutations(IDS[:3])}
    assert len(digests) == 1
    assert digests != {index.corpus_digest(IDS[:2])} != {index.corpus_digest(["s/as", "/b"])}


def test_passage_text() -> None:
    assert index.passage_text("Paris", "A city.") == "Paris\nA city."
    assert index.passage_text("", "A city.") == "A city."


# ---- on disk, with a real encoder


@pytest.fixture
def folder(tmp_path: Path, tiny_embedder: Path) -> Path:
    """An index of five documents."""
    encoder = embed.load_encoder(tiny_embedder, device="cpu", max_length=32, tokens_per_batch=100)
    vectors = encoder.encode(["red", "blue", "green", "red and blue", "none"]).vectors
    place = tmp_path / "index"
    place.mkdir()
    index.write_index(place, IDS, vectors, meta_for(IDS, 32, encoder=embed.fingerprint(tiny_embedder), dtype="float16"))
    return place


def test_round_trip(folder: Path, tiny_embedder: Path) -> None:
    opened = index.load_index(folder, tiny_embedder, device="cpu", documents=IDS[::-1])
    hits = opened.search(["blue", "red and blue"], 1)
    assert hits.ids == [["s/b"], ["s/d"]]
    # The same text: cosine 1 up to what float16 keeps.
    np.testing.assert_allclose(hits.scores, 1.0, atol=1e-3)
    (scores,) = opened.similarity(["blue"], [IDS])
    assert scores[1] == pytest.approx(1.0, abs=1e-3)
    assert scores.argmax() == 1
    assert load_file(folder / "embeddings.safetensors")["embeddings"].dtype == np.float16


def test_vectors_are_mapped_read_only(folder: Path, tiny_embedder: Path) -> None:
    opened = index.load_index(folder, tiny_embedder, device="cpu")
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("no /proc on this system")
    assert str(folder / "embeddings.safetensors") in maps.read_text()
    assert not opened._vectors.flags.writeable


def edit(folder: Path, **changes: Any) -> None:
    path = folder / "index.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def drop_row(folder: Path) -> None:
    table = pq.read_table(folder / "ids.parquet")
    pq.write_table(table.slice(1), folder / "ids.parquet")


def rename_row(folder: Path) -> None:
    pq.write_table(pa.table({"document_id": ["s/a", "s/b", "s/c", "s/d", "s/x"]}), folder / "ids.parquet")


def cut_vectors(folder: Path) -> None:
    path = folder / "embeddings.safetensors"
    path.write_bytes(path.read_bytes()[:-10])


def fewer_vectors(folder: Path) -> None:
    path = folder / "embeddings.safetensors"
    save_file({"embeddings": load_file(path)["embeddings"][1:]}, path)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (drop_row, "contradict"),
        (rename_row, "contradict"),
        (fewer_vectors, "contradict"),
        (cut_vectors, "vectors cannot be read"),
        (lambda folder: (folder / "embeddings.safetensors").unlink(), "vectors cannot be read"),
        (lambda folder: (folder / "ids.parquet").write_bytes(b"PAR1"), "ids cannot be read"),
        (lambda folder: (folder / "index.json").unlink(), "no readable index"),
        (lambda folder: (folder / "index.json").write_text("{}"), "no readable index"),
        (lambda folder: edit(folder, dim="32"), "no readable index"),
        (lambda folder: edit(folder, novel=1), "no readable index"),
    ],
)
def test_a_damaged_index_is_refused(
    folder: Path, tiny_embedder: Path, spoil: Callable[[Path], object], words: str
) -> None:
    spoil(folder)
    with pytest.raises(DataInvalid, match=words):
        index.load_index(folder, tiny_embedder, device="cpu")


def test_another_corpus_is_refused(folder: Path, tiny_embedder: Path) -> None:
    with pytest.raises(DataInvalid, match="another corpus"):
        index.load_index(folder, tiny_embedder, device="cpu", documents=[*IDS, "s/f"])


def test_another_encoder_is_refused(folder: Path, tiny_embedder: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(tiny_embedder, tmp_path / "other"))
    (other / "1_Pooling/config.json").write_text('{"pooling_mode_cls_token": true}')
    with pytest.raises(EnvironmentMismatch, match="another encoder"):
        index.load_index(folder, other, device="cpu")


@pytest.mark.parametrize("ids", [IDS[::-1], ["s/a"] * 5, IDS[:4]])
def test_contradicting_parts_are_not_written(tmp_path: Path, ids: list[str]) -> None:
    with pytest.raises(ValueError, match="ascend"):
        index.write_index(tmp_path, ids, np.zeros((5, 4), dtype=np.float32), meta_for(IDS))
    assert list(tmp_path.iterdir()) == []

"""The stage build_index in the real wrapper: every document once, in order, the same bytes twice, and how it fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import load_file

from components.build_index.__main__ import run
from components.build_index.params import Params
from faithline.data.schema import DOCUMENTS
from faithline.lm import embed
from faithline.pipeline.stage import execute
from faithline.retrieval.index import load_index

ROWS = [
    {"document_id": "s/9", "set": "s", "title": "Red", "text": "a red fox"},
    {"document_id": "r/2", "set": "r", "title": "", "text": "word " * 50},
    {"document_id": "s/1", "set": "s", "title": "Blue", "text": ""},
    {"document_id": "r/1", "set": "r", "title": "Green", "text": "a green tree"},
]
SECTION = {"device": "cpu", "dtype": "float32", "max_length": 32, "tokens_per_batch": 64}


def write_documents(root: Path, rows: list[dict[str, Any]]) -> None:
    (root / "data/prepared").mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist(rows, schema=DOCUMENTS)
    pq.write_table(table, root / "data/prepared/documents.parquet")


@pytest.fixture
def project(make_project: Callable[..., Path], tiny_embedder: Path) -> Path:
    """A project that ran as far as build_index."""
    root = make_project({"build_index": SECTION}, tiny=False)
    (root / "models").mkdir()
    (root / "models/embedder").symlink_to(tiny_embedder)
    write_documents(root, ROWS)
    return root


def run_stage(root: Path) -> int:
    return execute(root, "build_index", Params, run)


def test_every_document_once_in_order(project: Path, tiny_embedder: Path) -> None:
    assert run_stage(project) == 0
    folder = project / "data/index"
    ids = pq.read_table(folder / "ids.parquet")["document_id"].to_pylist()
    assert ids == ["r/1", "r/2", "s/1", "s/9"]
    encoder = embed.load_encoder(tiny_embedder, device="cpu", max_length=32, tokens_per_batch=1)
    expected = encoder.encode(["Green\na green tree", "word " * 50, "Blue\n", "Red\na red fox"]).vectors
    np.testing.assert_allclose(load_file(folder / "embeddings.safetensors")["embeddings"], expected, atol=1e-5)
    # By hand: [CLS] and [SEP], and one token per letter: 2 + 5 + 10, cut at 32, 2 + 4, 2 + 3 + 7.
    metrics = json.loads((project / "metrics/build_index.json").read_text())
    assert metrics == {"documents": 4, "dim": 32, "mean_tokens": (17 + 32 + 6 + 12) / 4, "truncated": 1}
    index = load_index(
        folder, project / "models/embedder", device="cpu", documents=[row["document_id"] for row in ROWS]
    )
    assert index.search(["Red\na red fox"], 1).ids == [["s/9"]]


def test_the_order_of_the_table_does_not_show(project: Path) -> None:
    def outputs() -> dict[str, bytes]:
        names = ("embeddings.safetensors", "ids.parquet", "index.json")
        return {name: (project / "data/index" / name).read_bytes() for name in names}

    assert run_stage(project) == 0
    first = outputs()
    assert run_stage(project) == 0
    assert outputs() == first
    write_documents(project, ROWS[::-1])
    assert run_stage(project) == 0
    assert outputs() == first


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_stored_number_type(make_project: Any, project: Path, dtype: str) -> None:
    text = (project / "params.yaml").read_text().replace("dtype: float32", f"dtype: {dtype}")
    (project / "params.yaml").write_text(text)
    assert run_stage(project) == 0
    assert load_file(project / "data/index/embeddings.safetensors")["embeddings"].dtype == np.dtype(dtype)
    assert json.loads((project / "data/index/index.json").read_text())["dtype"] == dtype


def no_documents(root: Path) -> None:
    write_documents(root, [])


def repeated_id(root: Path) -> None:
    write_documents(root, [*ROWS, ROWS[0] | {"text": "another"}])


def no_table(root: Path) -> None:
    (root / "data/prepared/documents.parquet").unlink()


def no_embedder(root: Path) -> None:
    (root / "models/embedder").unlink()
    (root / "models/embedder").mkdir()


def too_long(root: Path) -> None:
    text = (root / "params.yaml").read_text()
    (root / "params.yaml").write_text(text.replace("max_length: 32", "max_length: 512"))


@pytest.mark.parametrize(
    ("spoil", "code", "words"),
    [
        (no_documents, 20, "no rows in `documents`"),
        (repeated_id, 20, "not unique"),
        (no_table, 20, "not found"),
        (no_embedder, 40, "fetch_models"),
        (too_long, 40, "max_length to 64 or less"),
    ],
)
def test_failures_leave_nothing(
    project: Path, spoil: Callable[[Path], None], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(project)
    assert run_stage(project) == code
    assert words in capsys.readouterr().err
    assert not (project / "data/index").exists()
    assert not (project / "metrics/build_index.json").exists()
    assert list((project / "data").glob(".*")) == []


def test_real_passages(real_data: Path, project: Path) -> None:
    """HippoRAG's corpus: text in many scripts, through the tiny encoder."""
    import hashlib

    corpus = json.loads((real_data / "2wikimultihopqa_corpus.json").read_text())[:200]
    rows = [
        {
            "document_id": f"w/{hashlib.sha256((row['title'] + chr(0) + row['text']).encode()).hexdigest()[:16]}",
            "set": "w",
        }
        | {"title": row["title"], "text": row["text"]}
        for row in corpus
    ]
    write_documents(project, rows)
    assert run_stage(project) == 0
    vectors = load_file(project / "data/index/embeddings.safetensors")["embeddings"]
    assert vectors.shape == (200, 32)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)

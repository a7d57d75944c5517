"""The dense index: one vector per document, searched exactly.

A folder holds `embeddings.safetensors` ([documents, dim], rows in ascending order of document id), `ids.parquet` and
`index.json`, which ties them to the encoder and the corpus. A document id is a digest of set, title and text, so the
digest of the sorted ids identifies the corpus. Vectors are mapped from the file, not read into memory. An index that
belongs to another encoder or another corpus is refused, never searched.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from faithline.lm import embed
from faithline.pipeline.errors import DataInvalid, EnvironmentMismatch
from faithline.pipeline.records import write_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from faithline.lm.backbone import Device

__all__ = ["Hits", "Index", "Meta", "corpus_digest", "load_index", "passage_text", "write_index"]

EMBEDDINGS_FILE = "embeddings.safetensors"
IDS_FILE = "ids.parquet"
META_FILE = "index.json"
_TENSOR = "embeddings"
_CHUNK = 16_384
"""Documents scored at a time: 25 MB of float32 at 384 dimensions."""
_QUERIES = 256
"""Questions scored at a time; with `_CHUNK` 16 MB of scores."""
_ROUGH = 1e-4
"""More than a float32 product of two unit vectors can be off (2e-5 at 384 dimensions)."""


class Meta(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `index.json` holds."""

    encoder: str
    """Fingerprint of the encoder (`faithline.lm.embed.fingerprint`)."""
    corpus: str
    """Digest of the sorted document ids."""
    documents: int
    dim: int
    dtype: Literal["float16", "float32"]
    """Number type of the stored vectors; scores are always computed in float32."""
    max_length: int
    """Tokens read of a document, and of a question."""
    tokens_per_batch: int


@dataclass(frozen=True)
class Hits:
    """Best documents of each question, best first; equal scores in order of document id."""

    ids: list[list[str]]
    scores: NDArray[np.float32]
    """[questions, min(k, documents)], cosines."""


def passage_text(title: str, text: str) -> str:
    """The text of a document that is embedded."""
    return f"{title}\n{text}" if title else text


def corpus_digest(document_ids: Sequence[str]) -> str:
    """Identify a corpus by its document ids, in any order; SHA-256, hex."""
    return hashlib.sha256("\n".join(sorted(document_ids)).encode()).hexdigest()


def write_index(folder: Path, document_ids: Sequence[str], vectors: NDArray[np.float32], meta: Meta) -> None:
    """Write an index folder.

    Args:
        folder: Existing folder.
        document_ids: Ascending, without repetition.
        vectors: [documents, dim], in the same order.
        meta: Its counts must describe the two.

    Raises:
        ValueError: Ids, vectors and `meta` contradict each other.
    """
    from safetensors.numpy import save_file

    if list(document_ids) != sorted(set(document_ids)) or not _agrees(meta, document_ids, vectors):
        raise ValueError("ids must ascend and describe, with meta, the rows of the vectors")
    save_file({_TENSOR: vectors.astype(meta.dtype)}, folder / EMBEDDINGS_FILE)
    table = pa.table({"document_id": pa.array(document_ids, pa.string())})
    pq.write_table(table, folder / IDS_FILE, compression="zstd")
    write_json(folder / META_FILE, msgspec.to_builtins(meta))


def load_index(
    folder: Path, encoder_folder: Path, *, device: Device = "auto", documents: Sequence[str] | None = None
) -> Index:
    """Open an index for searching.

    Args:
        folder: What `write_index` wrote.
        encoder_folder: The encoder it was built with; questions go through it.
        device: Where the encoder runs.
        documents: Ids of the corpus that is about to be used, when the caller knows them.

    Raises:
        DataInvalid: Files are missing or contradict each other, or the index belongs to another corpus.
        EnvironmentMismatch: It was built with another encoder.
    """
    meta = _read_meta(folder)
    found = embed.fingerprint(encoder_folder)
    if meta.encoder != found:
        raise EnvironmentMismatch(
            f"the index was built with another encoder ({meta.encoder[:12]}, not {found[:12]})",
            where=f"{folder} with {encoder_folder}",
            next_step="run `dvc repro build_index`, or restore the former encoder",
        )
    ids = _column(folder / IDS_FILE)
    vectors = _map_vectors(folder / EMBEDDINGS_FILE)
    if not _agrees(meta, ids.to_pylist(), vectors):
        raise DataInvalid(
            "the index's files contradict each other", where=str(folder), next_step="run `dvc repro build_index`"
        )
    if documents is not None and corpus_digest(documents) != meta.corpus:
        raise DataInvalid(
            "the index was built from another corpus",
            where=str(folder),
            next_step="run `dvc repro build_index` on the present data/prepared",
        )
    encoder = embed.load_encoder(
        encoder_folder, device=device, max_length=meta.max_length, tokens_per_batch=meta.tokens_per_batch
    )
    return Index(meta, ids, vectors, encoder)


def _agrees(meta: Meta, document_ids: Sequence[str], vectors: NDArray[np.floating]) -> bool:
    return (
        vectors.shape == (meta.documents, meta.dim)
        and len(document_ids) == meta.documents
        and corpus_digest(document_ids) == meta.corpus
    )


class Index:
    """An opened index; see `load_index`."""

    def __init__(self, meta: Meta, ids: pa.StringArray, vectors: NDArray[np.floating], encoder: embed.Encoder) -> None:
        self.meta = meta
        self._ids = ids
        self._vectors = vectors
        self._encoder = encoder

    def similarity(self, questions: Sequence[str], candidates: Sequence[Sequence[str]]) -> list[NDArray[np.float32]]:
        """Score each question's own candidates.

        Args:
            questions: Query texts.
            candidates: Document ids, one sequence per question.

        Returns:
            Per question the cosines [candidates], in the order of its candidates.

        Raises:
            DataInvalid: A candidate is not in the index.
        """
        counts = np.array([len(row) for row in candidates], dtype=np.int64)
        rows = self._rows([document for row in candidates for document in row])
        queries = np.repeat(np.arange(len(questions)), counts)
        encoded = _unit(self._encoder.encode(questions).vectors)
        scores = np.empty(len(rows), dtype=np.float32)
        for start in range(0, len(rows), _CHUNK):
            part = slice(start, start + _CHUNK)
            scores[part] = _dots(encoded[queries[part]], _unit(self._vectors[rows[part]]))
        return np.split(scores, np.cumsum(counts)[:-1]) if len(counts) else []

    def search(self, questions: Sequence[str], k: int) -> Hits:
        """Find the `k` documents nearest to each question among all, exactly.

        Args:
            questions: Query texts.
            k: How many, at least 1; fewer are returned when the index holds fewer.

        Raises:
            ValueError: `k` is less than 1.
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        k = min(k, self.meta.documents)
        encoded = _unit(self._encoder.encode(questions).vectors)
        rows = np.empty((len(questions), k), dtype=np.int64)
        scores = np.empty((len(questions), k), dtype=np.float32)
        for start in range(0, len(questions), _QUERIES):
            part = slice(start, start + _QUERIES)
            rows[part], scores[part] = self._nearest(encoded[part], k)
        names = self._ids.take(pa.array(rows.ravel())).to_pylist()
        return Hits(ids=[names[start : start + k] for start in range(0, len(names), k)], scores=scores)

    def _nearest(self, queries: NDArray[np.float32], k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Best rows and scores [queries, k] over all chunks; rows ascend within equal scores.

        A matrix product gives equal vectors scores that differ in the last digit, by their place in the chunk. So it
        only preselects, and what may be among the best is scored again, each pair by itself.
        """
        best = _Scored.empty()
        for start in range(0, self.meta.documents, _CHUNK):
            chunk = _unit(self._vectors[start : start + _CHUNK])
            rough = queries @ chunk.T
            floor = np.partition(rough, -min(k, len(chunk)), axis=1)[:, -min(k, len(chunk))]
            line, column = np.nonzero(rough >= floor[:, None] - _ROUGH)
            best = best.joined(_Scored(line, start + column, _dots(queries[line], chunk[column]))).best(k)
        return best.row.reshape(len(queries), k), best.score.reshape(len(queries), k)

    def _rows(self, documents: list[str]) -> NDArray[np.int64]:
        """Row of each document id."""
        found = pc.index_in(pa.array(documents, pa.string()), value_set=self._ids)
        if found.null_count:
            missing = documents[pc.index(found.is_null(), True).as_py()]
            raise DataInvalid(
                f"{found.null_count} candidates are not in the index, first {missing}",
                where="data/index",
                next_step="run `dvc repro build_index` on the present data/prepared",
            )
        rows: NDArray[np.int64] = found.to_numpy(zero_copy_only=False).astype(np.int64)
        return rows


@dataclass(frozen=True)
class _Scored:
    """Scored pairs of a question (its line) and a document (its row); three arrays of one length."""

    line: NDArray[np.int64]
    row: NDArray[np.int64]
    score: NDArray[np.float32]

    @staticmethod
    def empty() -> _Scored:
        return _Scored(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))

    def joined(self, other: _Scored) -> _Scored:
        return _Scored(
            np.concatenate([self.line, other.line]),
            np.concatenate([self.row, other.row]),
            np.concatenate([self.score, other.score]),
        )

    def best(self, k: int) -> _Scored:
        """Up to `k` pairs of each line, lines ascending, best first."""
        order = np.lexsort((self.row, -self.score, self.line))
        line = self.line[order]
        place = np.arange(len(line)) - np.searchsorted(line, line)
        kept = order[place < k]
        return _Scored(self.line[kept], self.row[kept], self.score[kept])


def _dots(one: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float32]:
    """Inner products of two lists of vectors, pair by pair; equal pairs give equal numbers."""
    products: NDArray[np.float64] = np.einsum("ij,ij->i", one, other, dtype=np.float64)
    return products.astype(np.float32)


def _unit(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """Rows in float32, scaled to length 1 (encoders need not, and float16 storage loses the third decimal)."""
    full: NDArray[np.float32] = vectors.astype(np.float32)
    norm = np.linalg.norm(full, axis=1, keepdims=True)
    full /= np.maximum(norm, np.finfo(np.float32).tiny)
    return full


def _read_meta(folder: Path) -> Meta:
    path = folder / META_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Meta, strict=True)
    except (OSError, msgspec.DecodeError) as error:
        raise DataInvalid(
            f"no readable index: {error}", where=str(path), next_step="run `dvc repro build_index`"
        ) from error


def _column(path: Path) -> pa.StringArray:
    try:
        return pq.read_table(path, columns=["document_id"]).column(0).combine_chunks()
    except (OSError, pa.ArrowException) as error:
        raise DataInvalid(
            f"the index's ids cannot be read: {error}", where=str(path), next_step="run `dvc repro build_index`"
        ) from error


def _map_vectors(path: Path) -> NDArray[np.floating]:
    """The stored matrix, as a view of the mapped file: safetensors maps the file for torch, and copies for numpy."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            vectors: NDArray[np.floating] = file.get_tensor(_TENSOR).numpy()
            vectors.flags.writeable = False
    except (OSError, SafetensorError) as error:
        raise DataInvalid(
            f"the index's vectors cannot be read: {error}", where=str(path), next_step="run `dvc repro build_index`"
        ) from error
    return vectors

"""Embed every prepared document and write the index folder.

Owns the order (ascending document id, whatever the order in the table) and the counts; vectors are
`faithline.lm.embed`'s affair, the folder's layout is `faithline.retrieval.index`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import transformers

from components.build_index.params import BuildIndex
from faithline.data import prepared
from faithline.lm import embed
from faithline.pipeline.errors import DataInvalid
from faithline.retrieval import index

__all__ = ["build", "read_corpus"]


def read_corpus(folder: Path) -> pa.Table:
    """Read all documents in ascending order of document id.

    Raises:
        DataInvalid: There is none, or an id occurs twice.
    """
    table = prepared.documents(folder).table.select(["document_id", "title", "text"]).sort_by("document_id")
    ids = table.column("document_id")
    if len(ids.unique()) != len(ids):
        raise DataInvalid(
            "document ids are not unique", where=str(folder / "documents.parquet"), next_step="run prepare_data again"
        )
    return table


def build(
    corpus: pa.Table, encoder_folder: Path, out: Path, settings: BuildIndex, advance: Callable[[int], None]
) -> dict[str, float | int]:
    """Embed a corpus.

    Args:
        corpus: From `read_corpus`.
        encoder_folder: The embedding model.
        out: Existing folder for the index.
        settings: The stage's section.
        advance: Told how many more documents are done.

    Returns:
        Counts: documents, dim, mean_tokens, truncated.
    """
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    encoder = embed.load_encoder(
        encoder_folder,
        device=settings.device,
        max_length=settings.max_length,
        tokens_per_batch=settings.tokens_per_batch,
    )
    ids, titles, texts = (corpus.column(name).to_pylist() for name in ("document_id", "title", "text"))
    embedded = encoder.encode(list(map(index.passage_text, titles, texts)), advance)
    meta = index.Meta(
        encoder=embed.fingerprint(encoder_folder),
        corpus=index.corpus_digest(ids),
        documents=len(ids),
        dim=encoder.dim,
        dtype=settings.dtype,
        max_length=settings.max_length,
        tokens_per_batch=settings.tokens_per_batch,
    )
    index.write_index(out, ids, embedded.vectors, meta)
    return {
        "documents": len(ids),
        "dim": encoder.dim,
        "mean_tokens": round(float(embedded.tokens.mean()), 2),
        "truncated": embedded.truncated,
    }

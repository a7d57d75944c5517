"""The documents of one set, de-duplicated while they stream by.

A document is its title and text: equal ones get one id and one row, whatever question they belong to; ids never depend
on titles alone (500 MuSiQue questions hold 6,869 passages under 5,913 titles). The id shows 64 bits of the digest, and
64 more are remembered, so two documents that happened to share an id would be an error, not a mix-up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from faithline.data.digest_index import DigestIndex
from faithline.data.schema import DOCUMENTS
from faithline.pipeline.errors import DataInvalid

__all__ = ["Digests", "DocumentStore", "document_digests", "document_ids"]

_ID_DIGITS = 16
Digests = npt.NDArray[np.uint64]


def document_digests(titles: Sequence[str], texts: Sequence[str]) -> Digests:
    """Return the first 128 bits of SHA-256 of "title NUL text", shape (n, 2); titles hold no NUL."""
    digests = b"".join(
        hashlib.sha256(f"{title}\0{text}".encode()).digest()[:16] for title, text in zip(titles, texts, strict=True)
    )
    return np.frombuffer(digests, dtype=">u8").astype(np.uint64).reshape(-1, 2)


def document_ids(set_name: str, digests: Digests) -> pa.Array:
    """Return the id of each document of a set, shape (n,)."""
    digits = pa.py_buffer(digests[:, 0].astype(">u8").tobytes().hex().encode())
    offsets = pa.py_buffer(np.arange(len(digests) + 1, dtype=np.int32) * np.int32(_ID_DIGITS))
    hexadecimal = pa.StringArray.from_buffers(len(digests), offsets, digits)
    return pc.binary_join_element_wise(set_name, hexadecimal, "/")


class DocumentStore:
    """Gives ids to the documents of one set and picks out those not seen before."""

    def __init__(self, set_name: str) -> None:
        self._set = set_name
        self._index = DigestIndex()

    def __len__(self) -> int:
        return len(self._index)

    def ids(self, digests: Digests) -> pa.Array:
        """Return the id of each document, shape (n,)."""
        return document_ids(self._set, digests)

    def add(self, digests: Digests, titles: Sequence[str] | pa.Array, texts: Sequence[str] | pa.Array) -> pa.Table:
        """Return the rows (schema DOCUMENTS) of the documents not seen before, in order of first appearance.

        Args:
            digests: As `document_digests` returns them, shape (n, 2).
            titles: Shape (n,).
            texts: Shape (n,).

        Raises:
            DataInvalid: If two different documents have the same id.
        """
        fresh, equal = self._index.add(digests[:, 0], digests[:, 1])
        if not equal.all():
            row = int(np.flatnonzero(~equal)[0])
            raise DataInvalid(
                f"two different documents of set {self._set} have the id {self.ids(digests[row : row + 1])[0]}",
                where=f"title {str(titles[row])[:100]!r}",
                next_step="change one of the two documents, or read them as two sets",
            )
        rows = np.flatnonzero(fresh)
        picked = pa.array(rows)
        return pa.table(
            {
                "document_id": self.ids(digests[rows]),
                "set": pa.array([self._set] * len(rows), pa.string()),
                "title": pa.array(titles, pa.string()).take(picked),
                "text": pa.array(texts, pa.string()).take(picked),
            },
            schema=DOCUMENTS,
        )

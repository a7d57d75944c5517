"""The documents of some questions as a model is shown them: repeated ones once, those without text not at all."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from components.compose_training.document_texts import DocumentTexts
from components.compose_training.draws import Flags
from faithline.noise.text.hashing import hash_strings, mix
from faithline.pipeline.errors import DataInvalid

__all__ = ["Shown", "documents_of"]

Ints = npt.NDArray[np.int64]
_FALSE, _UNKNOWN, _TRUE = 0, 1, 2


class Shown(NamedTuple):
    """The documents of all questions, one after the other, each of shape (d,)."""

    owners: Ints
    """The question of each."""
    documents: pa.StructArray
    """As `DOCUMENT`."""
    flags: pa.Array
    """Gold, distractor or unknown (null)."""

    def lists(self, questions: Flags) -> pa.ListArray:
        """Return the documents of some of the questions, one list for each of them."""
        counts = np.bincount(self.owners, minlength=len(questions))[questions]
        offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
        return pa.ListArray.from_arrays(offsets, self.documents.filter(pa.array(questions[self.owners])))


def documents_of(rows: pa.RecordBatch, texts: DocumentTexts) -> Shown:
    """Look up the documents of some rows of the questions table.

    Raises:
        DataInvalid: If a document is not in the documents table, or the lists of a question are not equally long.
    """
    lists = rows.column("documents")
    owners = np.asarray(pc.list_parent_indices(lists), dtype=np.int64)
    ids = pc.list_flatten(lists)
    if pc.list_value_length(lists) != pc.list_value_length(rows.column("supporting")):
        raise DataInvalid(
            "a question has other numbers of documents and of `supporting` flags",
            where=f"questions from {rows.column('question_id')[0]} on",
            next_step="run `dvc repro prepare_data`",
        )
    supporting = pc.list_flatten(rows.column("supporting"))
    codes = np.asarray(supporting.cast(pa.int8()).fill_null(-1), dtype=np.int64)
    codes = np.where(codes < 0, _UNKNOWN, codes * _TRUE)
    _, first, group = np.unique(
        mix(hash_strings(ids) + mix(owners.astype(np.uint64))), return_index=True, return_inverse=True
    )
    # A repeated document that is gold once is gold; of two other flags unknown is the safer one.
    strongest = np.zeros(len(first), dtype=np.int64)
    np.maximum.at(strongest, group.reshape(-1), codes)
    order = np.argsort(first)
    places, merged = first[order], strongest[order]
    documents = texts.take(ids.take(pa.array(places)))
    visible = pc.match_substring_regex(documents.field("text"), r"[^\s\x{00a0}]")
    kept = np.asarray(visible, dtype=np.bool_)
    flags = pa.array(merged == _TRUE, mask=merged == _UNKNOWN)
    return Shown(owners[places[kept]], documents.filter(visible), flags.filter(visible))

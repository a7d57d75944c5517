"""A passage file beside a source: PubMed abstracts, MultiHop-RAG's articles, or a retrieval corpus of passages.

Some formats join it: a question names articles by key (PubMed id, address), and the file has their texts. Only the
articles that some question cites are held in memory, so a file of all of PubMed costs what the questions need.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from pathlib import Path

import msgspec

from faithline.data.readers.json_rows import OnBytes
from faithline.data.readers.ledger import RowError, RowLedger
from faithline.data.readers.records import Document
from faithline.data.readers.variants import RecordFormat, Variant, read_records

__all__ = ["load_cited", "read_corpus"]


class _Abstract(msgspec.Struct, gc=False):
    """A PubMed article."""

    pmid: int | str
    title: str | None
    abstract: str | None


class _Article(msgspec.Struct, gc=False):
    """An element of MultiHop-RAG's corpus.json."""

    url: str
    title: str
    body: str


class _Passage(msgspec.Struct, gc=False):
    """An element of HippoRAG's *_corpus.json."""

    title: str
    text: str


class _Numbered(msgspec.Struct, gc=False):
    """A row of the text corpus of BioASQ's hub form."""

    id: int | str
    passage: str


def _abstract(row: _Abstract, where: str, _ledger: RowLedger) -> Document:
    return Document(where=where, key=str(row.pmid), title=row.title or "", text=row.abstract or "")


def _article(row: _Article, where: str, _ledger: RowLedger) -> Document:
    return Document(where=where, key=row.url, title=row.title, text=row.body)


def _passage(row: _Passage, where: str, _ledger: RowLedger) -> Document:
    return Document(where=where, key="", title=row.title, text=row.text)


def _numbered(row: _Numbered, where: str, _ledger: RowLedger) -> Document:
    return Document(where=where, key=str(row.id), title=f"PubMed {row.id}", text=row.passage)


_CORPUS = RecordFormat(
    variants=(
        Variant("abstracts", _Abstract, _abstract),
        Variant("articles", _Article, _article),
        Variant("passages", _Passage, _passage),
        Variant("numbered", _Numbered, _numbered),
    )
)


def read_corpus(path: Path, ledger: RowLedger, on_bytes: OnBytes) -> Iterator[Document]:
    """Stream the documents of a passage file.

    Raises:
        DataInvalid: If the file cannot be read, fits no known form, or has a bad row and the ledger says fail.
    """
    for document in read_records(path, _CORPUS, ledger, None, on_bytes):
        try:
            ledger.check_documents(document.key or document.where, [document.title], [document.text])
        except RowError as error:
            ledger.reject(document.where, error.reason, error.detail)
            continue
        yield document


def load_cited(path: Path, cited: Set[str], ledger: RowLedger, on_bytes: OnBytes) -> dict[str, Document]:
    """Return the cited documents by key; the first of several under one key stays.

    Args:
        path: The passage file.
        cited: Keys of the documents that some question names.
        ledger: Its own ledger, apart from the questions'; documents that nobody cites are counted as left out.
        on_bytes: Progress.
    """
    found: dict[str, Document] = {}
    for document in read_corpus(path, ledger, on_bytes):
        if document.key not in cited:
            ledger.leave_out("not_cited")
        elif document.key in found:
            earlier = found[document.key]
            if (earlier.title, earlier.text) == (document.title, document.text):
                ledger.drop_repeated(document.where, document.key)
            else:
                ledger.reject(document.where, "conflicting_id", f"{document.key} was seen before with another text")
        else:
            ledger.kept += 1
            found[document.key] = document
    return found

"""Formats of questions by name, and the passage files that some of them join.

A format that cites articles by key is read in two passes when a passage file is given: the first collects the keys, so
that only those articles are loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from faithline.data.readers import bioasq, multihop_rag
from faithline.data.readers.corpus import load_cited
from faithline.data.readers.facts_grounding import FACTS_GROUNDING
from faithline.data.readers.hotpotqa import HOTPOTQA
from faithline.data.readers.json_rows import OnBytes
from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.musique import MUSIQUE
from faithline.data.readers.nq import NQ
from faithline.data.readers.popqa import POPQA
from faithline.data.readers.records import Document
from faithline.data.readers.rows import raw_rows
from faithline.data.readers.two_wiki import TWO_WIKI
from faithline.data.readers.variants import QuestionFormat

__all__ = ["QUESTION_FORMATS", "joined_format"]

QUESTION_FORMATS: Mapping[str, QuestionFormat] = {
    "2wikimultihopqa": TWO_WIKI,
    "bioasq": bioasq.bioasq(None),
    "facts_grounding": FACTS_GROUNDING,
    "hotpotqa": HOTPOTQA,
    "multihop_rag": multihop_rag.multihop_rag(None),
    "musique": MUSIQUE,
    "nq": NQ,
    "popqa": POPQA,
}
"""Formats of questions, read on their own."""

_JOINS: Mapping[str, tuple[Callable[[bytes], list[str]], Callable[[Mapping[str, Document]], QuestionFormat]]] = {
    "bioasq": (bioasq.cited_articles, bioasq.bioasq),
    "multihop_rag": (multihop_rag.cited_articles, multihop_rag.multihop_rag),
}
"""Format to what names the articles of a row, and to the format that joins them."""


def joined_format(name: str, path: Path, documents: Path, ledger: RowLedger, on_bytes: OnBytes) -> QuestionFormat:
    """Return a format that takes the texts of its documents from a passage file, where it cites any.

    Args:
        name: A key of QUESTION_FORMATS.
        path: The questions.
        documents: The passage file.
        ledger: The passage file's own ledger.
        on_bytes: Progress in the passage file.

    Raises:
        DataInvalid: If a file cannot be read, or has a bad row and the ledger says fail.
    """
    if name not in _JOINS:
        return QUESTION_FORMATS[name]
    cited_by, joined = _JOINS[name]
    form = QUESTION_FORMATS[name]
    cited: set[str] = set()
    for row in raw_rows(path, _silent, ledger, envelope=form.envelope):
        cited.update(cited_by(row.data))
    return joined(load_cited(documents, cited, ledger, on_bytes))


def _silent(_: int) -> None:
    """Progress in the questions is told by the pass that reads them for good."""

"""BioASQ task B (training and golden JSON): questions whose documents are PubMed addresses with expert snippets.

A document's text is its snippets, title snippets first, in the order of their offsets. A listed document without any
snippet keeps an empty text and is a distractor; every document with a snippet is evidence, also one that a snippet
names but the list does not (appended, and counted).

Answers: yesno the verdict; factoid all synonyms; list the first synonyms of all items as one text; summary, or any
question without an exact answer, the ideal answers.
"""

from __future__ import annotations

import re

import msgspec

from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.records import Question
from faithline.data.readers.variants import QuestionFormat, Variant, distinct, gold_answers

__all__ = ["BIOASQ"]

_PUBMED = re.compile(r"https?://(?:[^/]+/pubmed|pubmed\.ncbi\.nlm\.nih\.gov)/(\d+)/?")


class _Snippet(msgspec.Struct, gc=False, rename="camel"):
    document: str
    text: str
    begin_section: str = ""
    """title, abstract, or sections.<n>."""
    offset_in_begin_section: int = 0


class _Official(msgspec.Struct, gc=False):
    """One element of the file's `questions`."""

    id: str
    body: str
    type: str
    """yesno, factoid, list or summary."""
    documents: list[str]
    snippets: list[_Snippet] = []
    exact_answer: str | list[str | list[str]] | None = None
    """A verdict; for factoids synonyms; for lists synonyms per item. Absent for summaries."""
    ideal_answer: str | list[str] | None = None


def _normalise(row: _Official, where: str, ledger: RowLedger) -> Question:
    by_document: dict[str, list[_Snippet]] = {address: [] for address in row.documents}
    listed = len(by_document)
    for snippet in row.snippets:
        by_document.setdefault(snippet.document, []).append(snippet)
    ledger.notice("documents_listed_twice", len(row.documents) - listed)
    ledger.notice("documents_named_only_by_snippets", len(by_document) - listed)
    return Question(
        where=where,
        source_id=row.id,
        group_id=row.id,
        question=row.body,
        answers=_answers(row),
        answerable=True,
        question_type=row.type,
        hops=None,
        titles=[_title(address) for address in by_document],
        texts=[_text(snippets) for snippets in by_document.values()],
        supporting=[bool(snippets) for snippets in by_document.values()],
        plan=[],
    )


def _title(address: str) -> str:
    """Short name of an article; two articles never share it, so their (empty) texts are never merged."""
    found = _PUBMED.fullmatch(address)
    return f"PubMed {found[1]}" if found else address


def _text(snippets: list[_Snippet]) -> str:
    ordered = sorted(snippets, key=lambda s: (s.begin_section != "title", s.begin_section, s.offset_in_begin_section))
    return "\n".join(distinct(snippet.text for snippet in ordered))


def _answers(row: _Official) -> list[str]:
    exact, ideal = row.exact_answer, row.ideal_answer
    if not exact:
        return gold_answers([ideal] if isinstance(ideal, str) else ideal)
    if isinstance(exact, str):
        return gold_answers([exact])
    items = [[item] if isinstance(item, str) else item for item in exact]
    if row.type == "list":
        return gold_answers([", ".join(synonyms[0] for synonyms in items if synonyms)])
    return gold_answers([synonym for synonyms in items for synonym in synonyms])


BIOASQ = QuestionFormat(variants=(Variant("official", _Official, _normalise),), envelope="questions")

"""BioASQ task B (training and golden JSON): questions whose documents are PubMed addresses with expert snippets.

With a file of abstracts given, a document is the article's title and abstract, joined by PubMed id. Otherwise, and for
an article that the file lacks (counted), its text is its snippets, title snippets first, in the order of their offsets.
A listed document without any snippet is a distractor (without an abstract its text is empty); every document with a
snippet is evidence, also one that a snippet names but the list does not (appended, and counted).

The hub form has a question, one answer and the ids of relevant passages, which are all evidence.

Answers: yesno the verdict; factoid all synonyms; list the first synonyms of all items as one text; summary, or any
question without an exact answer, the ideal answers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

import msgspec

from faithline.data.readers.ledger import RowError, RowLedger
from faithline.data.readers.records import Document, Question
from faithline.data.readers.variants import QuestionFormat, Variant, distinct, gold_answers

__all__ = ["bioasq", "cited_articles"]

Abstracts = Mapping[str, Document]

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


class _Hub(msgspec.Struct, gc=False):
    """One row of a hub's question table."""

    id: int | str
    question: str
    answer: str
    relevant_passage_ids: list[int | str] | str
    """PubMed ids, or a JSON list of them inside a string."""


class _Citing(msgspec.Struct, gc=False):
    """What cites articles in any form."""

    documents: list[str] = []
    snippets: list[_Snippet] = []
    relevant_passage_ids: list[int | str] | str = []


def bioasq(abstracts: Abstracts | None) -> QuestionFormat:
    """Return the format; `abstracts` maps PubMed ids to articles, None = not given."""
    return QuestionFormat(
        variants=(
            Variant("official", _Official, partial(_normalise_official, abstracts)),
            Variant("hub", _Hub, partial(_normalise_hub, abstracts)),
        ),
        envelope="questions",
    )


def cited_articles(row: bytes) -> list[str]:
    """PubMed ids that a row names; none if it cannot be read, which is reported when it is read for good."""
    try:
        citing = msgspec.json.decode(row, type=_Citing)
        passages = _passage_ids(citing.relevant_passage_ids)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, RowError):
        return []
    addresses = [*citing.documents, *(snippet.document for snippet in citing.snippets)]
    return [*passages, *(found[1] for address in addresses if (found := _PUBMED.fullmatch(address)))]


def _normalise_hub(abstracts: Abstracts | None, row: _Hub, where: str, ledger: RowLedger) -> Question:
    ids = _passage_ids(row.relevant_passage_ids)
    articles = [_article(abstracts, f"http://www.ncbi.nlm.nih.gov/pubmed/{pmid}", [], ledger) for pmid in ids]
    return Question(
        where=where,
        source_id=str(row.id),
        group_id=str(row.id),
        question=row.question,
        answers=gold_answers([row.answer]),
        answerable=True,
        question_type="",
        hops=None,
        titles=[title for title, _ in articles],
        texts=[text for _, text in articles],
        supporting=[True] * len(articles),
        plan=[],
    )


def _passage_ids(value: list[int | str] | str) -> list[str]:
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value, type=list[int | str])
        except msgspec.DecodeError as error:
            raise RowError("wrong_schema", f"relevant_passage_ids is not a JSON list of ids: {error}") from error
    return distinct(map(str, value))


def _normalise_official(abstracts: Abstracts | None, row: _Official, where: str, ledger: RowLedger) -> Question:
    by_document: dict[str, list[_Snippet]] = {address: [] for address in row.documents}
    listed = len(by_document)
    for snippet in row.snippets:
        by_document.setdefault(snippet.document, []).append(snippet)
    ledger.notice("documents_listed_twice", len(row.documents) - listed)
    ledger.notice("documents_named_only_by_snippets", len(by_document) - listed)
    articles = [_article(abstracts, address, snippets, ledger) for address, snippets in by_document.items()]
    return Question(
        where=where,
        source_id=row.id,
        group_id=row.id,
        question=row.body,
        answers=_answers(row),
        answerable=True,
        question_type=row.type,
        hops=None,
        titles=[title for title, _ in articles],
        texts=[text for _, text in articles],
        supporting=[bool(snippets) for snippets in by_document.values()],
        plan=[],
    )


def _article(abstracts: Abstracts | None, address: str, snippets: list[_Snippet], ledger: RowLedger) -> tuple[str, str]:
    """Return title and text.

    An article whose own title is not known has a short name: two never share it, so (empty) texts are never merged.
    """
    found = _PUBMED.fullmatch(address)
    if abstracts is not None:
        article = abstracts.get(found[1]) if found else None
        if article is not None:
            return article.title, article.text
        ledger.notice("abstracts_missing")
    return f"PubMed {found[1]}" if found else address, _text(snippets)


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

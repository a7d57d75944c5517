"""MultiHop-RAG: queries over news articles, each with the facts that answer it and the articles these are from.

With the corpus given, a document is the whole article, found by its address; otherwise the facts of one article, joined
by line breaks, are its text. A `null_query` has no evidence and the answer "Insufficient information.": it is
unanswerable, and has no documents. Queries have no id; theirs is a hash of the query and its evidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import msgspec

from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.records import Document, Question
from faithline.data.readers.variants import QuestionFormat, Variant, content_id, distinct, gold_answers

__all__ = ["cited_articles", "multihop_rag"]

_UNANSWERABLE = "null_query"


class _Evidence(msgspec.Struct, gc=False):
    fact: str
    title: str
    url: str = ""


class _Query(msgspec.Struct, gc=False):
    """One element of MultiHopRAG.json."""

    query: str
    answer: str
    question_type: str
    """inference_query, comparison_query, temporal_query or null_query."""
    evidence_list: list[_Evidence]


def multihop_rag(corpus: Mapping[str, Document] | None) -> QuestionFormat:
    """Return the format; `corpus` maps addresses to articles, None = not given."""
    normalise = partial(_normalise, corpus)
    return QuestionFormat(variants=(Variant("queries", _Query, normalise),), open_domain=True)


def cited_articles(row: bytes) -> list[str]:
    """Addresses that a row names; none if it cannot be read, which is reported when it is read for good."""
    try:
        return [evidence.url for evidence in msgspec.json.decode(row, type=_Query).evidence_list]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


def _normalise(corpus: Mapping[str, Document] | None, row: _Query, where: str, ledger: RowLedger) -> Question:
    facts: dict[tuple[str, str], list[str]] = {}
    for evidence in row.evidence_list:
        facts.setdefault((evidence.url, evidence.title), []).append(evidence.fact)
    titles, texts = [], []
    for (url, title), found in facts.items():
        article = corpus.get(url) if corpus is not None else None
        if corpus is not None and article is None:
            ledger.notice("articles_not_in_corpus")
        titles.append(article.title if article else title)
        texts.append(article.text if article else "\n".join(distinct(found)))
    answerable = row.question_type != _UNANSWERABLE
    if answerable and not facts:
        ledger.notice("questions_without_gold_document")
    return Question(
        where=where,
        source_id=content_id(row.query, *(part for key in facts for part in key)),
        group_id=content_id(row.query),
        question=row.query,
        answers=gold_answers([row.answer]) if answerable else [],
        answerable=answerable,
        question_type=row.question_type,
        hops=len(facts) or None,
        titles=titles,
        texts=texts,
        supporting=[True] * len(facts),
        plan=[],
    )

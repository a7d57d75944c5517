"""2WikiMultihopQA's format: HotpotQA's fields, its own four types, and the reasoning path as triples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from faithline.world.facts import Fact
from faithline.world.formats.hotpotqa import supporting_sentences
from faithline.world.formats.streams import Row
from faithline.world.items import Item
from faithline.world.values import answer_text

__all__ = ["two_wiki_rows"]


def two_wiki_rows(items: Iterable[Item]) -> Iterator[Row]:
    """Rows of a 2WikiMultihopQA file; every item's kind must be one of its four types."""
    for item in items:
        question = item.question
        yield {
            "_id": item.id,
            "type": question.kind.value,
            "question": question.text,
            "context": [[passage.title, [s.text for s in passage.sentences]] for passage in item.passages],
            "supporting_facts": supporting_sentences(item),
            "evidences": [_triple(fact) for fact in question.needs],
            "answer": question.answer,
        }


def _triple(fact: Fact) -> tuple[str, str, str]:
    relation = fact.attribute.role or fact.attribute.name.replace("_", " ")
    return fact.subject.name, relation, answer_text(fact.value, fact.kind)

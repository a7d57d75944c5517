"""HotpotQA's distractor format: a JSON array of questions with titled passages cut into sentences.

`type` is "comparison" for questions that weigh two subjects, else "bridge"; `level` follows the number of facts
needed. The id carries the template. HotpotQA has no unanswerable questions and no aliases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from faithline.world.formats.streams import Row
from faithline.world.items import Item
from faithline.world.passages import Passage
from faithline.world.questions import QuestionKind

__all__ = ["hotpotqa_rows", "supporting_sentences"]

_COMPARING = (QuestionKind.COMPARISON, QuestionKind.BRIDGE_COMPARISON, QuestionKind.NUMERIC)
_LEVELS = {1: "easy", 2: "medium"}


def hotpotqa_rows(items: Iterable[Item]) -> Iterator[Row]:
    """Rows of a HotpotQA file."""
    for item in items:
        question = item.question
        yield {
            "_id": item.id,
            "question": question.text,
            "answer": question.answer,
            "type": "comparison" if question.kind in _COMPARING else "bridge",
            "level": _LEVELS.get(len(question.needs), "hard"),
            "supporting_facts": supporting_sentences(item),
            "context": [[passage.title, _sentences(passage)] for passage in item.passages],
        }


def supporting_sentences(item: Item) -> list[tuple[str, int]]:
    """(title, sentence number) of every sentence that states a needed fact."""
    needed = {(fact.key, fact.current) for fact in item.question.needs}
    return [
        (passage.title, number)
        for passage in item.passages
        for number, sentence in enumerate(passage.sentences)
        if any((fact.key, fact.current) in needed for fact in sentence.facts)
    ]


def _sentences(passage: Passage) -> list[str]:
    """HotpotQA's sentences after the first start with a space, so that they join to the paragraph."""
    return [sentence.text if number == 0 else " " + sentence.text for number, sentence in enumerate(passage.sentences)]

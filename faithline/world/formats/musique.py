"""MuSiQue's format (ans and full in one): JSON lines with paragraphs and the question's decomposition.

The id starts with the number of hops, as the original's does, and carries the template. As in MuSiQue-full, an
unanswerable question keeps the answer it would have; the step that no paragraph supports has no paragraph index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from faithline.world.formats.streams import Row
from faithline.world.items import Item
from faithline.world.questions import Step

__all__ = ["musique_rows"]


def musique_rows(items: Iterable[Item]) -> Iterator[Row]:
    """Rows of a MuSiQue file."""
    for item in items:
        question = item.question
        supporting = item.supporting
        yield {
            "id": item.id,
            "paragraphs": [
                {"idx": place, "title": passage.title, "paragraph_text": passage.text, "is_supporting": supports}
                for place, (passage, supports) in enumerate(zip(item.passages, supporting, strict=True))
            ],
            "question": question.text,
            "question_decomposition": [
                {
                    "id": number,
                    "question": step.question,
                    "answer": step.answer,
                    "paragraph_support_idx": _place(step, item),
                }
                for number, step in enumerate(question.plan, 1)
            ],
            "answer": question.answer,
            "answer_aliases": question.aliases,
            "answerable": question.answerable,
        }


def _place(step: Step, item: Item) -> int | None:
    """The first paragraph that states the step's fact, the main passage before paraphrases."""
    if step.fact is None:
        return None
    places = [place for place, passage in enumerate(item.passages) if passage.states(step.fact)]
    mains = [place for place in places if item.passages[place].role.value == "main"]
    return next(iter(mains or places), None)

"""What each question is shown: its own passages, ranked by similarity, as many as are wanted and fit.

A passage given twice is shown once, one without text not at all. The ranking decides which passages stay, both for
`top_k` and for the length limit; the order in the prompt is a matter of its own (`given` or `ranked`). Equally similar
passages keep the given order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from components.answer.params import Answer
from faithline.agents.answer import Passage, messages
from faithline.lm.chat import Chat, Fitted, TooLong

if TYPE_CHECKING:
    from faithline.data.prepared import Document
    from faithline.retrieval.index import Index

__all__ = ["Prompt", "prompts", "ranked"]


@dataclass(frozen=True)
class Prompt:
    """One question ready for the model."""

    ids: list[int] | None
    """None when template and question alone exceed the limit."""
    tokens: int
    """Length of the prompt, or of template and question where there is none."""
    context: list[str]
    """Document ids in the order shown."""
    dropped: int
    """Passages among the top k that did not fit."""
    shortened: bool
    """Whether a passage was shortened to fit."""


def ranked(
    questions: Sequence[str], given: Sequence[Sequence[str]], index: Index, top_k: int | None
) -> list[list[int]]:
    """Rank each question's documents: positions in `given`, most similar first, at most `top_k`."""
    scores = index.similarity(questions, given)
    return [np.argsort(-row, kind="stable")[:top_k].tolist() for row in scores]


def prompts(
    questions: Sequence[str],
    given: Sequence[Sequence[str]],
    documents: Mapping[str, Document],
    index: Index,
    chat: Chat,
    *,
    settings: Answer,
) -> list[Prompt]:
    """Build the prompts of some questions.

    Args:
        questions: Their texts.
        given: Document ids of each, in the set's order.
        documents: Texts by document id.
        index: Ranks the documents.
        chat: The backbone's template and tokeniser.
        settings: top_k, order and max_prompt_tokens.
    """
    given = [[key for key in dict.fromkeys(ids) if documents[key].text.strip()] for ids in given]
    rankings = ranked(questions, given, index, settings.top_k)
    return [
        _prompt(question, [Passage(*documents[ids[place]]) for place in ranking], ranking, chat, settings)
        for question, ids, ranking in zip(questions, given, rankings, strict=True)
    ]


def _prompt(question: str, best_first: list[Passage], places: list[int], chat: Chat, settings: Answer) -> Prompt:
    position = {passage.document_id: place for passage, place in zip(best_first, places, strict=True)}

    def arranged(passages: Sequence[Passage]) -> list[Passage]:
        if settings.order == "ranked":
            return list(passages)
        return sorted(passages, key=lambda passage: position[passage.document_id])

    fitted = chat.fit(lambda kept: messages(question, arranged(kept)), best_first, settings.max_prompt_tokens)
    match fitted:
        case TooLong(tokens=tokens):
            return Prompt(ids=None, tokens=tokens, context=[], dropped=len(best_first), shortened=False)
        case Fitted(ids=ids, shown=shown, dropped=dropped, shortened=shortened):
            context = [passage.document_id for passage in arranged(best_first[: len(shown)])]
            return Prompt(ids=ids, tokens=len(ids), context=context, dropped=dropped, shortened=shortened)

"""HotpotQA (distractor setting): the official JSON, the hub's table, and the processed form of research repositories.

Gold evidence is given as (title, sentence) pairs; a document is supporting when any of its sentences is. Two paragraphs
with one title cannot be told apart by such a pair: both are flagged, and the question is counted.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from faithline.data.readers.hub_columns import HubRow, pairs_of_context, pairs_of_facts
from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.processed import Processed, normalise_processed
from faithline.data.readers.records import Question
from faithline.data.readers.variants import QuestionFormat, Variant, gold_answers

__all__ = ["HOTPOTQA", "flags_by_title", "paragraph_text"]


class _Official(msgspec.Struct, gc=False):
    """One element of hotpot_{train,dev}_*.json."""

    id: str = msgspec.field(name="_id")
    question: str
    context: list[tuple[str, list[str]]]
    """[title, sentences] per paragraph."""
    answer: str | None = None
    """Absent in the test file."""
    supporting_facts: list[tuple[str, int]] | None = None
    """[title, index of the sentence]; absent in the test file."""
    type: str = ""
    """bridge or comparison."""


def _normalise_official(row: _Official, where: str, ledger: RowLedger) -> Question:
    return Question(
        where=where,
        source_id=row.id,
        group_id=row.id,
        question=row.question,
        answers=gold_answers(None if row.answer is None else [row.answer]),
        answerable=True,
        question_type=row.type,
        hops=None,
        titles=[title for title, _ in row.context],
        texts=[paragraph_text(sentences) for _, sentences in row.context],
        supporting=flags_by_title(row.context, row.supporting_facts, ledger),
        plan=[],
    )


def _normalise_hub(row: HubRow, where: str, ledger: RowLedger) -> Question:
    return _normalise_official(
        _Official(
            id=row.source_id,
            question=row.question,
            context=pairs_of_context(row),
            answer=row.answer,
            supporting_facts=pairs_of_facts(row),
            type=row.type,
        ),
        where,
        ledger,
    )


def paragraph_text(sentences: Sequence[str]) -> str:
    """Join a paragraph's sentences.

    HotpotQA's sentences after the first carry the space before them, 2WikiMultiHopQA's do not; a paragraph in which
    none does is joined by spaces, so that no two sentences are glued together.
    """
    carries_space = any(sentence[:1].isspace() for sentence in sentences[1:])
    return ("" if carries_space else " ").join(sentences)


def flags_by_title(
    context: Sequence[tuple[str, Sequence[str]]], facts: Sequence[tuple[str, int]] | None, ledger: RowLedger
) -> list[bool | None]:
    """Turn supporting facts into one flag per paragraph.

    Args:
        context: (title, sentences) per paragraph.
        facts: (title, index of the sentence); None or empty = unknown, for every question of these sets has evidence.
        ledger: Takes note of facts that point past their paragraph (still gold by title), of facts whose title is not
            there, and of gold titles that several paragraphs share.
    """
    if not facts:
        return [None] * len(context)
    longest: dict[str, int] = {}
    for title, sentences in context:
        longest[title] = max(longest.get(title, 0), len(sentences))
    gold = {title for title, _ in facts}
    for title, sentence in facts:
        if title not in longest:
            ledger.notice("supporting_title_missing")
        elif not 0 <= sentence < longest[title]:
            ledger.notice("supporting_sentence_out_of_range")
    flags: list[bool | None] = [title in gold for title, _ in context]
    if sum(map(bool, flags)) > len(gold & longest.keys()):
        ledger.notice("questions_with_shared_gold_title")
    ledger.notice("questions_without_gold_document", not any(flags))
    return flags


HOTPOTQA = QuestionFormat(
    variants=(
        Variant("official", _Official, _normalise_official),
        Variant("processed", Processed, normalise_processed),
        Variant("hub", HubRow, _normalise_hub),
    )
)

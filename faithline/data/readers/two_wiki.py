"""2WikiMultiHopQA: HotpotQA's layout plus evidence triples, which become the plan.

The test file has blank answers and no supporting facts: such a row has an unknown answer, and is not a bad one.
"""

from __future__ import annotations

import msgspec

from faithline.data.readers.hotpotqa import flags_by_title, paragraph_text
from faithline.data.readers.hub_columns import HubRow, pairs_of_context, pairs_of_facts, triples
from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.processed import Processed, normalise_processed
from faithline.data.readers.records import Question
from faithline.data.readers.variants import QuestionFormat, Variant, gold_answers, steps

__all__ = ["TWO_WIKI"]


class _Official(msgspec.Struct, gc=False):
    """One element of {train,dev,test}.json."""

    id: str = msgspec.field(name="_id")
    question: str
    context: list[tuple[str, list[str]]]
    """[title, sentences] per paragraph."""
    answer: str | None = None
    supporting_facts: list[tuple[str, int]] | None = None
    """[title, index of the sentence]."""
    evidences: list[tuple[str, str, str]] | None = None
    """[subject, relation, object] per reasoning step."""
    type: str = ""
    """comparison, inference, compositional or bridge_comparison."""


def _normalise_official(row: _Official, where: str, ledger: RowLedger) -> Question:
    # Joined by spaces, as in the processed form: both forms of a question give the same row.
    plan = steps(" ".join(triple) for triple in row.evidences or [])
    return Question(
        where=where,
        source_id=row.id,
        group_id=row.id,
        question=row.question,
        answers=gold_answers([row.answer] if row.answer or (row.answer is not None and row.supporting_facts) else None),
        answerable=True,
        question_type=row.type,
        hops=len(plan) or None,
        titles=[title for title, _ in row.context],
        texts=[paragraph_text(sentences) for _, sentences in row.context],
        supporting=flags_by_title(row.context, row.supporting_facts, ledger),
        plan=plan,
    )


def _normalise_hub(row: HubRow, where: str, ledger: RowLedger) -> Question:
    return _normalise_official(
        _Official(
            id=row.source_id,
            question=row.question,
            context=pairs_of_context(row),
            answer=row.answer,
            supporting_facts=pairs_of_facts(row),
            evidences=triples(row),
            type=row.type,
        ),
        where,
        ledger,
    )


TWO_WIKI = QuestionFormat(
    variants=(
        Variant("official", _Official, _normalise_official),
        Variant("processed", Processed, normalise_processed),
        Variant("hub", HubRow, _normalise_hub),
    )
)

"""FACTS Grounding's public examples (CSV, hub Parquet): one long document, a system instruction and a user request.

The instruction is part of what is asked (it sets length and style, and forbids outside knowledge), so the question is
both, a blank line between them. There is no gold answer. Rows have no id: it is a hash of all three texts, and the
split is dealt by the document, which several requests may share.
"""

from __future__ import annotations

import msgspec

from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.records import Question
from faithline.data.readers.variants import QuestionFormat, Variant, content_id

__all__ = ["FACTS_GROUNDING"]


class _Example(msgspec.Struct, gc=False):
    """One row of examples.csv; full_prompt repeats the others and is not read."""

    system_instruction: str
    user_request: str
    context_document: str
    type: str = ""
    """Kind of the request, in later releases."""


def _normalise(row: _Example, where: str, _ledger: RowLedger) -> Question:
    parts = [part.strip() for part in (row.system_instruction, row.user_request)]
    return Question(
        where=where,
        source_id=content_id(row.system_instruction, row.user_request, row.context_document),
        group_id=content_id(row.context_document),
        question="\n\n".join(part for part in parts if part) if parts[1] else "",
        answers=[],
        answerable=True,
        question_type=row.type,
        hops=None,
        titles=[""],
        texts=[row.context_document],
        supporting=[True],
        plan=[],
    )


FACTS_GROUNDING = QuestionFormat(variants=(Variant("examples", _Example, _normalise),), tabular=True)

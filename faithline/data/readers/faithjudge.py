"""FaithJudge's evaluation data: one line per source, with the annotated responses that its judge sees as examples.

Two layouts: summaries from FaithBench (annotations grouped by annotator, a majority verdict per summary) and responses
from RAGTruth (its three tasks, told by the shape of the source). The majority verdict is kept as `quality`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from faithline.data.readers.faithbench import Annotation, spans_of
from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.ragtruth import SpanRow, labels_of, source_of, task_of
from faithline.data.readers.records import AnnotatedRow, Response
from faithline.data.readers.variants import RecordFormat, Variant

__all__ = ["FAITHJUDGE"]


class _Summary(msgspec.Struct, gc=False):
    sample_id: int | str
    summary: str
    annotations: list[list[Annotation]] = []
    """One list per annotator."""
    verdict: str = msgspec.field(name="computed_ground_truth_label_majority", default="")
    meta_model: str = ""


class _FaithBenchRow(msgspec.Struct, gc=False):
    """One line of faithbench_summary.jsonl."""

    source_id: int | str
    source: str
    summaries: list[_Summary]


class _Answer(msgspec.Struct, gc=False):
    response: str
    labels: list[SpanRow]
    model: str = ""


class _RagTruthRow(msgspec.Struct, gc=False):
    """One line of ragtruth_{qa,summary,data2txt}.jsonl."""

    source_id: int | str
    source: Any
    responses: list[_Answer]


def _normalise_faithbench(row: _FaithBenchRow, where: str, ledger: RowLedger) -> AnnotatedRow:
    source = source_of(str(row.source_id), "summary", row.source, where)
    responses = [
        Response(
            where=where,
            response_id=str(summary.sample_id),
            source_id=source.source_id,
            response=summary.summary,
            model=summary.meta_model,
            quality=summary.verdict,
            labels=labels_of(
                summary.summary, spans_of([note for notes in summary.annotations for note in notes]), ledger
            ),
        )
        for summary in row.summaries
    ]
    return AnnotatedRow(where=where, row_id=source.source_id, source=source, responses=responses)


def _normalise_ragtruth(row: _RagTruthRow, where: str, ledger: RowLedger) -> AnnotatedRow:
    source = source_of(str(row.source_id), task_of(row.source), row.source, where)
    responses = [
        Response(
            where=where,
            response_id=f"{source.source_id}-{position}",
            source_id=source.source_id,
            response=answer.response,
            model=answer.model,
            quality="",
            labels=labels_of(answer.response, answer.labels, ledger),
        )
        for position, answer in enumerate(row.responses)
    ]
    return AnnotatedRow(where=where, row_id=source.source_id, source=source, responses=responses)


FAITHJUDGE = RecordFormat(
    variants=(
        Variant("faithbench", _FaithBenchRow, _normalise_faithbench),
        Variant("ragtruth", _RagTruthRow, _normalise_ragtruth),
    )
)

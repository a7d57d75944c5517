"""FaithBench: news passages summarised by ten models, each summary annotated by several people.

The release is a folder of batch_<n>.json; one such file is read as well. Sample ids count from 0 in every batch, so a
response's id is "<batch>-<sample id>", as in FaithJudge's copy. Every annotator's spans are kept, of all kinds: type is
the finest label (Unwanted.Intrinsic, Unwanted.Extrinsic, Unwanted, Questionable, Benign), and a benign span, right by
common knowledge though not in the source, is marked implicit_true. The same passage in ten rows is one source: its id
is a hash of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec

from faithline.data.readers.json_rows import OnBytes
from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.ragtruth import Offset, SpanRow, labels_of, source_of
from faithline.data.readers.records import AnnotatedRow, Response
from faithline.data.readers.variants import RecordFormat, Variant, content_id, read_records

__all__ = ["Annotation", "batch_files", "read_faithbench", "spans_of"]

_BATCH = re.compile(r"batch_(\d+)")


class Annotation(msgspec.Struct, gc=False):
    """One annotator's span; `note` and the span of the source are not read."""

    label: list[str]
    """From coarse to fine, e.g. Unwanted, Unwanted.Intrinsic."""
    summary_span: str
    summary_start: Offset
    summary_end: Offset


class _Metadata(msgspec.Struct, gc=False):
    summarizer: str = ""


class _Sample(msgspec.Struct, gc=False):
    """One element of a batch's `samples`."""

    sample_id: int
    source: str
    summary: str
    annotations: list[Annotation] = []
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


def batch_files(path: Path) -> list[Path]:
    """Return the batches of a folder by number, or the one file."""
    if not path.is_dir():
        return [path]
    return sorted(path.glob("batch_*.json"), key=lambda file: (len(file.name), file.name))


def read_faithbench(path: Path, ledger: RowLedger, limit: int | None, on_bytes: OnBytes) -> Iterator[AnnotatedRow]:
    """Stream the samples of a folder of batches or of one batch; `limit` counts per batch.

    Raises:
        DataInvalid: If a file cannot be read or is no batch, or has a bad row and the ledger says fail.
    """
    for file in batch_files(path):
        found = _BATCH.search(file.name)
        normalise = partial(_normalise, found[1] if found else file.stem)
        form = RecordFormat(variants=(Variant("official", _Sample, normalise),), envelope="samples")
        yield from read_records(file, form, ledger, limit, on_bytes)


def spans_of(annotations: Sequence[Annotation]) -> list[SpanRow]:
    """Turn annotations into spans of the summary."""
    return [
        SpanRow(
            start=note.summary_start,
            end=note.summary_end,
            text=note.summary_span,
            label_type=max(note.label, key=len, default=""),
            implicit_true="Benign" in note.label,
        )
        for note in annotations
    ]


def _normalise(batch: str, row: _Sample, where: str, ledger: RowLedger) -> AnnotatedRow:
    source = source_of(content_id(row.source), "summary", row.source, where)
    response = Response(
        where=where,
        response_id=f"{batch}-{row.sample_id}",
        source_id=source.source_id,
        response=row.summary,
        model=row.metadata.summarizer,
        quality="",
        labels=labels_of(row.summary, spans_of(row.annotations), ledger),
    )
    return AnnotatedRow(where=where, row_id=response.response_id, source=source, responses=[response])

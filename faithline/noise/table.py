"""The statistics as tables, in text and as HTML fragments: one like MARCH's Table 1, one of findings.

Both are made from the mapping that `measure` returns and from nothing else. A cell without a figure shows a dash: the
set has no such table, or the figure is not defined for it.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from faithline.data.schema import SPLITS
from faithline.noise.lengths import ALL

__all__ = ["Cell", "Table", "findings_table", "lengths_table", "shares", "value_at"]

_DASH = "–"
_QUERIES = ("questions", "claims", "responses", "judgements")
"""Tables that hold queries, by how much they say about them."""

_LENGTHS = {
    "query words": "query_words",
    "documents": "documents",
    "their words": "context_words",
    "their characters": "context_characters",
}
_TEXTS = ("documents", "texts")
_LABELS = ("responses", "labels")
_FINDINGS: dict[str, tuple[str, ...]] = {
    "empty documents": ("documents", "empty"),
    "end in an ellipsis": ("documents", "truncated", "ellipsis"),
    "unfinished": ("documents", "truncated", "unfinished"),
    "near-duplicates": ("documents", "near_duplicates"),
    "replacement characters": (*_TEXTS, "encoding", "replacement"),
    "mojibake": (*_TEXTS, "encoding", "mojibake"),
    "control characters": (*_TEXTS, "encoding", "control"),
    "invisible characters": (*_TEXTS, "encoding", "invisible"),
    "not NFC": (*_TEXTS, "encoding", "not_nfc"),
    "other script": (*_TEXTS, "language", "other_script"),
    "few function words": (*_TEXTS, "language", "few_function_words"),
    "e-mail addresses": (*_TEXTS, "personal", "email"),
    "phone numbers": (*_TEXTS, "personal", "phone"),
    "card numbers": (*_TEXTS, "personal", "card"),
    "social security numbers": (*_TEXTS, "personal", "social_security"),
    "IP addresses": (*_TEXTS, "personal", "ip_address"),
    "contradicting golds": ("questions", "contradicting_golds"),
    "unanswerable": ("questions", "splits", ALL, "unanswerable"),
    "both true and false": ("claims", "both_true_and_false"),
    "labels with wrong offsets": (*_LABELS, "wrong_offsets"),
    "labels due to null": (*_LABELS, "due_to_null"),
    "labels implicitly true": (*_LABELS, "implicit_true"),
    "equal sides": ("judgements", "equal_sides"),
    "leaked questions, exact": ("leakage", "questions", "exact"),
    "leaked questions, n-gram": ("leakage", "questions", "ngram"),
    "shared documents, exact": ("leakage", "documents", "exact"),
    "shared documents, n-gram": ("leakage", "documents", "ngram"),
}
Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Cell:
    """A figure, and a smaller remark on it."""

    figure: str
    remark: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of cells under a header; the first `names` columns are names."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    names: int

    def text(self) -> str:
        """Render for a terminal."""
        lines = [list(self.header), *([f"{c.figure} {c.remark}".strip() for c in row] for row in self.rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.header))]
        shown = [
            "  ".join(
                cell.ljust(width) if column < self.names else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        return "\n".join([self.caption, shown[0], "-" * len(shown[0]), *shown[1:]])

    def html(self) -> str:
        """Render as a fragment: a table in a box that scrolls."""
        head = "".join(
            f"<th scope=col{_text(column < self.names)}>{html.escape(name)}</th>"
            for column, name in enumerate(self.header)
        )
        body = "\n".join(
            f"<tr>{''.join(_html_cell(cell, place, self.names) for place, cell in enumerate(row))}</tr>"
            for row in self.rows
        )
        return (
            f'<div class="scroll" tabindex="0"><table class="noise">\n<caption><span>{html.escape(self.caption)}</span>'
            f"</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>"
        )


def lengths_table(report: Mapping[str, object]) -> Table:
    """Return one line per set and split: average (least – greatest), and the irrelevant share."""
    rows = []
    for name in _names(report):
        table = next((table for table in _QUERIES if value_at(report, "sets", name, table) is not None), None)
        for split in (*SPLITS, ALL):
            place = ("sets", name, table or "", "splits", split)
            if table is None or value_at(report, *place) is None:
                continue
            rows.append(
                [
                    Cell(name),
                    Cell(split),
                    _count(report, (*place, "samples")),
                    *(_spread(report, (*place, key)) for key in _LENGTHS.values()),
                    _spread(report, (*place, "gold_documents")),
                    _percent(report, (*place, "irrelevant_documents", "ratio")),
                ]
            )
    header = ["set", "split", "samples", *_LENGTHS, "gold", "irrelevant"]
    caption = "Per query: average (least–greatest). Irrelevant: 1 - gold documents / documents, over all queries"
    return Table(caption, header, rows, names=2)


def findings_table(report: Mapping[str, object]) -> Table:
    """Return one line per finding that any set has, one column per set: share (count)."""
    names, found = shares(report)
    counts = dict(_FINDINGS)
    rows = [
        [
            Cell(label),
            *(_share(share, report, ("sets", name, *counts[label])) for name, share in zip(names, row, strict=True)),
        ]
        for label, row in found
    ]
    return Table("Findings: share (count) of what each applies to", ["finding", *names], rows, names=1)


def shares(report: Mapping[str, object]) -> tuple[list[str], list[tuple[str, list[float | None]]]]:
    """Return the names of the sets, and for each finding that any set has its share in each."""
    names = _names(report)
    found = []
    for label, path in _FINDINGS.items():
        row = [_applicable(report, ("sets", name, *path)) for name in names]
        if any(share is not None for share in row):
            found.append((label, row))
    return names, found


def value_at(report: Mapping[str, object], *path: str) -> object:
    """Return the value at a path of keys, None if there is none."""
    found: object = report
    for key in path:
        if not isinstance(found, Mapping):
            return None
        found = found.get(key)
    return found


def _names(report: Mapping[str, object]) -> list[str]:
    sets = value_at(report, "sets")
    return sorted(sets) if isinstance(sets, Mapping) else []


def _count(report: Mapping[str, object], path: Path) -> Cell:
    value = value_at(report, *path)
    return Cell(f"{value:,}" if isinstance(value, int) else _DASH)


def _spread(report: Mapping[str, object], path: Path) -> Cell:
    average, least, most = (value_at(report, *path, key) for key in ("avg", "min", "max"))
    if not isinstance(average, int | float):
        return Cell(_DASH)
    return Cell(f"{average:,.2f}" if average < 100 else f"{average:,.0f}", f"({least:,}–{most:,})")


def _percent(report: Mapping[str, object], path: Path) -> Cell:
    value = _number(report, path)
    return Cell(_DASH if value is None else f"{100 * value:.2f} %")


def _share(share: float | None, report: Mapping[str, object], path: Path) -> Cell:
    count = value_at(report, *path, "count")
    if share is None:
        return Cell(_DASH)
    return Cell(f"{100 * share:.2f} %", f"({count:,})") if count else Cell("0")


def _applicable(report: Mapping[str, object], path: Path) -> float | None:
    """Return a share; None also where nothing was evaluated, of which no share leaked."""
    evaluated = value_at(report, *path[:-1], "evaluation")
    return None if evaluated == 0 else _number(report, (*path, "share"))


def _number(report: Mapping[str, object], path: Path) -> float | None:
    value = value_at(report, *path)
    return float(value) if isinstance(value, int | float) else None


def _html_cell(cell: Cell, place: int, names: int) -> str:
    remark = f'<span class="interval">{html.escape(cell.remark.strip("()"))}</span>' if cell.remark else ""
    content = html.escape(cell.figure) + remark
    return f"<th scope=row class=text>{content}</th>" if place < names else f"<td>{content}</td>"


def _text(name: bool) -> str:
    return " class=text" if name else ""

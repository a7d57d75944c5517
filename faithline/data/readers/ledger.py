"""The fate of every row of one source: kept, refused, or skipped and counted; nothing vanishes.

Two rules decide. A *row* that breaks the schema or contradicts an earlier one is refused: with on_invalid = fail the
run ends naming it, with skip it is counted under its reason. A row equal to an earlier one says nothing new: it is
dropped and counted in either mode. What is odd but usable (say, a supporting fact that points past its paragraph) is
kept and noticed. So rows = kept + sum of skipped, always.

One document beyond the length limit of the settings refuses its whole row: a text of many megabytes is a broken export
or an attack, and cutting it would change what the row says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from faithline.pipeline.errors import DataInvalid

__all__ = ["OnInvalid", "RowError", "RowLedger"]

OnInvalid = Literal["fail", "skip"]
_EXAMPLES = 20
_SHOWN = 300
"""Characters of a detail that are shown: it may quote an absurdly long value."""


class RowError(Exception):
    """A row breaks a rule of its format; caught where the row's place in the file is known."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class RowLedger:
    """Counts of one source."""

    def __init__(self, source: str, on_invalid: OnInvalid, max_document_chars: int | None = None) -> None:
        self.source = source
        """Name of the source, shown in messages."""
        self.variant = ""
        """Which form of the format the file turned out to have."""
        self.rows = 0
        """Rows read, good or not."""
        self.kept = 0
        """Rows that went into the tables."""
        self.skipped: Counter[str] = Counter()
        """Rows not kept, by reason."""
        self.noticed: Counter[str] = Counter()
        """Oddities that refuse no row, by kind; a row later dropped as repeated counts as well."""
        self.examples: list[str] = []
        """The first skipped rows: place, reason, detail."""
        self._on_invalid = on_invalid
        self._max_document_chars = max_document_chars

    def check_documents(self, owner: str, titles: Sequence[str], texts: Sequence[str]) -> None:
        """Check what no document may break, whatever the format.

        Args:
            owner: Id of the question or source that holds the documents, for the message.
            titles: One per document.
            texts: One per document.

        Raises:
            RowError: If a text is longer than the settings allow, or a title holds a NUL character.
        """
        limit = self._max_document_chars
        if limit is not None:
            for title, text in zip(titles, texts, strict=True):
                if len(text) > limit:
                    raise RowError(
                        "document_too_long",
                        f"document {title[:100]!r} of {owner} has {len(text)} characters, "
                        f"prepare_data.max_document_chars allows {limit}",
                    )
        # NUL separates title and text in a document's digest.
        if any("\0" in title for title in titles):
            raise RowError("nul_character", f"a title of {owner} holds a NUL character")

    def apart(self) -> RowLedger:
        """Return an empty ledger of the same rules, for rows that are counted on their own."""
        return RowLedger(self.source, self._on_invalid, self._max_document_chars)

    def take_over(self, later: RowLedger) -> None:
        """Add the counts of a ledger that was kept apart for rows after these."""
        self.rows += later.rows
        self.kept += later.kept
        self.skipped += later.skipped
        self.noticed += later.noticed
        self.examples += later.examples[: _EXAMPLES - len(self.examples)]

    def reject(self, where: str, reason: str, detail: str) -> None:
        """Refuse a row.

        Raises:
            DataInvalid: If the settings say that one bad row fails the run.
        """
        detail = detail if len(detail) <= _SHOWN else detail[:_SHOWN] + "..."
        if self._on_invalid == "fail":
            raise DataInvalid(
                f"source {self.source}: {reason.replace('_', ' ')}: {detail}",
                where=where,
                next_step="repair the row, or set prepare_data.on_invalid to skip: such rows are then counted",
            )
        self._skip(where, reason, detail)

    def drop_repeated(self, where: str, key: str) -> None:
        """Count a row that equals an earlier one."""
        self._skip(where, "repeated", f"equal to an earlier row with id {key}")

    def leave_out(self, reason: str) -> None:
        """Count a good row that the settings exclude."""
        self.skipped[reason] += 1

    def notice(self, kind: str, count: int = 1) -> None:
        """Count something odd in a row that is kept."""
        if count:
            self.noticed[kind] += count

    def _skip(self, where: str, reason: str, detail: str) -> None:
        self.skipped[reason] += 1
        if len(self.examples) < _EXAMPLES:
            self.examples.append(f"{where}: {reason}: {detail}")

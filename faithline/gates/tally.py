"""Counting while batches stream by: what is known of one set (or of the tables as a whole) so far.

A measure belongs to a column, written `table.column`. Violations add up, extremes are kept, shares keep numerator and
denominator, and distributions count categories; so the result depends neither on the order of rows nor on how they were
batched, but for the examples, which are the first few offenders. A measure that was never fed has no value, and a check
of it fails: nothing passes by omission.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["Measured", "Profile", "Tally", "show"]

_EXAMPLES = 5
_SHOWN = 80
"""Characters of an example that are shown: it may quote an absurdly long value."""
_CATEGORIES = 64
"""Categories kept of a distribution; the rest is one category, for broken data may have a category per row."""
OTHER = "(other)"


@dataclass(frozen=True)
class Measured:
    """One measured value."""

    value: float | str | None
    """None: there was nothing to measure it on."""
    examples: tuple[str, ...] = ()


def show(value: float | str | None) -> str:
    """Write a measured value or a limit for people."""
    if value is None:
        return "none"
    return value if isinstance(value, str) else f"{value:.10g}"


Profile = Mapping[str, Mapping[str, Measured]]
"""Column to measure to value: the frame that expectations are evaluated on."""


@dataclass
class Tally:
    """Running measures."""

    distributions: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """`table.column: measure` to category to count."""
    _numbers: dict[tuple[str, str], float] = field(default_factory=dict)
    _shares: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    _examples: defaultdict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, column: str, measure: str, count: int) -> None:
        """Add to a count."""
        self._numbers[column, measure] = self._numbers.get((column, measure), 0) + count

    def violations(self, column: str, measure: str, wrong: pa.Array, names: pa.Array | pa.ChunkedArray) -> None:
        """Add the rows where `wrong` is true, remembering the first by name."""
        flags = np.asarray(wrong, dtype=np.bool_)
        self.add(column, measure, int(flags.sum()))
        if flags.any():
            self._remember(column, measure, names, flags)

    def share(self, column: str, measure: str, hits: pa.Array, names: pa.Array | pa.ChunkedArray) -> None:
        """Add to a share: true values of `hits` over its length; the first hits are remembered by name."""
        flags = np.asarray(hits, dtype=np.bool_)
        self.share_of(column, measure, int(flags.sum()), len(flags))
        if flags.any():
            self._remember(column, measure, names, flags)

    def share_of(self, column: str, measure: str, hits: int, total: int) -> None:
        """Add to a share, counts given."""
        before = self._shares.get((column, measure), (0, 0))
        self._shares[column, measure] = (before[0] + hits, before[1] + total)

    def extremes(self, column: str, low: str, high: str, values: pa.Array | pa.ChunkedArray) -> None:
        """Keep the least value as measure `low` and the greatest as `high`."""
        if len(values):
            found = pc.min_max(values).as_py()
            self._numbers[column, low] = min(found["min"], self._numbers.get((column, low), found["min"]))
            self._numbers[column, high] = max(found["max"], self._numbers.get((column, high), found["max"]))

    def distribute(self, column: str, measure: str, categories: pa.Array | pa.ChunkedArray) -> None:
        """Count categories; null is one, shown as "unknown"."""
        counts = pc.value_counts(categories.cast(pa.string()).fill_null("unknown"))
        if isinstance(counts, pa.ChunkedArray):
            counts = counts.combine_chunks()
        names, numbers = counts.field("values").to_pylist(), counts.field("counts").to_pylist()
        self.distributions[f"{column}: {measure}"].update(dict(zip(names, numbers, strict=True)))

    def profile(self) -> dict[str, dict[str, Measured]]:
        """Return what was measured."""
        columns: dict[str, dict[str, Measured]] = defaultdict(dict)
        shares = {key: hits / total if total else None for key, (hits, total) in self._shares.items()}
        for (column, measure), value in {**self._numbers, **shares}.items():
            columns[column][measure] = Measured(value, tuple(self._examples.get((column, measure), ())))
        return dict(columns)

    def top_categories(self) -> dict[str, dict[str, int]]:
        """Return the distributions, rare categories of very many put together."""
        tops = {}
        for name, counts in self.distributions.items():
            ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            tops[name] = dict(ranked[:_CATEGORIES])
            if rest := sum(count for _, count in ranked[_CATEGORIES:]):
                tops[name][OTHER] = tops[name].get(OTHER, 0) + rest
        return tops

    def _remember(
        self, column: str, measure: str, names: pa.Array | pa.ChunkedArray, flags: npt.NDArray[np.bool_]
    ) -> None:
        examples = self._examples[column, measure]
        rows = np.flatnonzero(flags)[: _EXAMPLES - len(examples)]
        for name in names.take(pa.array(rows)).to_pylist():
            shown = name if isinstance(name, str) and name else repr(name)
            examples.append(shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "...")

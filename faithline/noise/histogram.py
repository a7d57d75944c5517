"""Exact distributions of integers, kept as counts per value: any quantile, whatever the number of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

__all__ = ["Histogram", "Ratios", "summary"]

Ints = npt.NDArray[np.int64]
Summary = dict[str, float | int | None]

_PENDING = 1 << 16
"""Values gathered before they are counted."""


class Histogram:
    """Counts of integers; memory grows with the number of distinct values only."""

    def __init__(self) -> None:
        self._values = np.zeros(0, dtype=np.int64)
        self._counts = np.zeros(0, dtype=np.int64)
        self._pending: list[Ints] = []
        self._waiting = 0

    def add(self, values: npt.NDArray[np.integer]) -> None:
        """Add values, shape (n,)."""
        self._pending.append(values.astype(np.int64))
        self._waiting += len(values)
        if self._waiting >= _PENDING:
            self._settle()

    def add_all(self, other: Histogram) -> None:
        """Add all values of another histogram."""
        values, counts = other.table()
        self._settle()
        self._merge(values, counts)

    def table(self) -> tuple[Ints, Ints]:
        """Return the distinct values, ascending, and how often each occurred."""
        self._settle()
        return self._values, self._counts

    def _settle(self) -> None:
        if self._pending:
            self._merge(*np.unique(np.concatenate(self._pending), return_counts=True))
            self._pending, self._waiting = [], 0

    def _merge(self, values: Ints, counts: Ints) -> None:
        total, place = np.unique(np.concatenate([self._values, values]), return_inverse=True)
        summed = np.zeros(len(total), dtype=np.int64)
        np.add.at(summed, place, np.concatenate([self._counts, counts]))
        self._values, self._counts = total, summed


class Ratios:
    """Counts of fractions part / whole, exact: a distribution of pairs of integers below 2^31."""

    def __init__(self) -> None:
        self._pairs = Histogram()

    def add(self, parts: Ints, wholes: Ints) -> None:
        """Add fractions; those with whole 0 have no value and are left out."""
        some = wholes > 0
        self._pairs.add(parts[some] << 32 | wholes[some])

    def add_all(self, other: Ratios) -> None:
        """Add all fractions of another one."""
        self._pairs.add_all(other._pairs)

    def summary(self, quantiles: Sequence[float]) -> Summary:
        """As `summary`, of the fractions."""
        pairs, counts = self._pairs.table()
        values = (pairs >> 32) / np.maximum(pairs & 0xFFFFFFFF, 1)
        order = np.argsort(values, kind="stable")
        return summary((values[order], counts[order]), quantiles)


def summary(table: tuple[npt.NDArray[np.int64] | npt.NDArray[np.float64], Ints], quantiles: Sequence[float]) -> Summary:
    """Describe a distribution.

    Args:
        table: Values, ascending, and their counts.
        quantiles: Shares; a quantile is the smallest value v such that at least this share of all values is <= v
            (NumPy's method "inverted_cdf").

    Returns:
        avg, min, max and q05, q50, ...; all None if there is no value.
    """
    values, counts = table
    names = [_quantile_name(share) for share in quantiles]
    if not len(values):
        return dict.fromkeys(["avg", "max", "min", *names])
    upto = np.cumsum(counts)
    total = int(upto[-1])
    whole = values.dtype.kind == "i"
    average = (int(np.dot(values, counts)) if whole else math.fsum((values * counts).tolist())) / total
    ranks = [max(1, math.ceil(Fraction(str(share)) * total)) for share in quantiles]
    found = values[np.searchsorted(upto, ranks)]
    return {"avg": average, "max": values[-1].item(), "min": values[0].item()} | dict(
        zip(names, found.tolist(), strict=True)
    )


def _quantile_name(share: float) -> str:
    percent = f"{100 * share:g}"
    return f"q{percent.zfill(2) if '.' not in percent else percent}"

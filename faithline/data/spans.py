"""Whether spans quote the text they point at, for whole columns at once, in code points."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["matches"]


def matches(
    texts: pa.Array, owners: pa.Array, starts: pa.Array, ends: pa.Array, quotes: pa.Array
) -> npt.NDArray[np.bool_]:
    """Say which spans hold exactly the text they are said to hold.

    Args:
        texts: The texts, shape (n,).
        owners: Row of each span's text, shape (m,).
        starts: First code point of each span, shape (m,).
        ends: One past its last code point, shape (m,).
        quotes: What each span is said to hold, shape (m,).

    Returns:
        Shape (m,); false also for a span that is empty or lies outside its text.
    """
    text_points, text_first, text_lengths = _code_points(texts)
    quote_points, quote_first, quote_lengths = _code_points(quotes)
    row, start, end = (np.asarray(column, dtype=np.int64) for column in (owners, starts, ends))
    good: npt.NDArray[np.bool_] = (
        (start >= 0) & (start < end) & (end <= text_lengths[row]) & (end - start == quote_lengths)
    )
    spans = np.flatnonzero(good)
    lengths = quote_lengths[spans]
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    here = text_points[np.repeat(text_first[row[spans]] + start[spans], lengths) + within]
    there = quote_points[np.repeat(quote_first[spans], lengths) + within]
    differs = np.repeat(spans, lengths)[here != there]
    good[differs] = False
    return good


def _code_points(
    strings: pa.Array,
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return all code points, the first of each string, and each string's length."""
    lengths = np.asarray(pc.utf8_length(strings), dtype=np.int64)
    points = np.frombuffer("".join(strings.to_pylist()).encode("utf-32-le"), dtype=np.uint32)
    return points, np.cumsum(lengths) - lengths, lengths

"""Measures that rows of every table share: ids, splits, blank text, lengths, words.

All take a slice of one table that belongs to one set, without nulls in required columns.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from faithline.data.digest_index import DigestIndex
from faithline.data.schema import SPLITS
from faithline.gates.row_digests import digests
from faithline.gates.tally import Tally

__all__ = [
    "BLANK",
    "LONGEST",
    "OUTSIDE",
    "REPEATED",
    "ROWS",
    "SEVERAL_SPLITS",
    "SHORTEST",
    "UNKNOWN_SPLITS",
    "Seen",
    "blank",
    "measure_groups",
    "measure_ids",
    "measure_lengths",
    "measure_splits",
    "measure_words",
    "rows_in",
]

ROWS = "rows"
REPEATED = "repeated ids"
OUTSIDE = "ids outside the set"
UNKNOWN_SPLITS = "unknown splits"
SEVERAL_SPLITS = "ids in several splits"
BLANK = "blank values"
SHORTEST = "shortest (characters)"
LONGEST = "longest (characters)"


@dataclass
class Seen:
    """What must be remembered of a set's rows from one batch to the next."""

    ids: DigestIndex = field(default_factory=DigestIndex)
    groups: DigestIndex = field(default_factory=DigestIndex)


def rows_in(split: str) -> str:
    """Name of the measure that counts a split's rows."""
    return f"rows in {split}"


def measure_ids(tally: Tally, column: str, ids: pa.ChunkedArray, set_name: str, seen: DigestIndex) -> None:
    """Count rows, ids that occurred before, and ids of another set."""
    words = digests(ids)
    fresh, equal = seen.add(words[:, 0], words[:, 1])
    tally.add(column, ROWS, len(ids))
    tally.violations(column, REPEATED, pa.array(~fresh & equal), ids)
    tally.violations(column, OUTSIDE, pc.invert(pc.starts_with(ids, f"{set_name}/")), ids)


def measure_splits(tally: Tally, column: str, splits: pa.ChunkedArray) -> None:
    """Count the rows of each split, and of none."""
    for split in SPLITS:
        tally.add(column, rows_in(split), pc.sum(pc.equal(splits, split)).as_py())
    tally.violations(column, UNKNOWN_SPLITS, pc.invert(pc.is_in(splits, pa.array(SPLITS))), splits)


def measure_groups(
    tally: Tally, column: str, groups: pa.ChunkedArray, splits: pa.ChunkedArray, seen: DigestIndex
) -> None:
    """Count rows whose question or source was met in another split before."""
    codes = pc.index_in(splits, pa.array(SPLITS)).fill_null(len(SPLITS))
    _, equal = seen.add(digests(groups)[:, 0], np.asarray(codes, dtype=np.uint64))
    tally.violations(column, SEVERAL_SPLITS, pa.array(~equal), groups)


def blank(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Say which texts are empty or white space."""
    return pc.equal(pc.utf8_length(pc.utf8_trim_whitespace(texts)), 0)


def measure_lengths(tally: Tally, column: str, texts: pa.ChunkedArray) -> None:
    """Measure the shortest and longest text, and the distribution of lengths in half octaves."""
    lengths = pc.utf8_length(texts)
    tally.extremes(column, SHORTEST, LONGEST, lengths)
    tally.distribute(column, "characters", pa.array(half_octaves(np.asarray(lengths))))


def half_octaves(lengths: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Return the bin of each length, shape (n,): 0 for 0, then two per doubling, named by their lower end."""
    step = np.floor(2 * np.log2(np.maximum(lengths, 1)))
    bins: npt.NDArray[np.int64] = np.where(lengths > 0, np.ceil(2 ** (step / 2)), 0).astype(np.int64)
    return bins


def measure_words(tally: Tally, column: str, texts: pa.ChunkedArray, buckets: int) -> None:
    """Count words by bucket: which words a set uses, in a fixed small space."""
    words = pc.list_flatten(pc.utf8_split_whitespace(pc.utf8_lower(texts)))
    counts = pc.value_counts(words.combine_chunks())
    if not len(counts):
        return
    place = (digests(counts.field("values"))[:, 0] % np.uint64(buckets)).astype(np.int64)
    totals = np.bincount(place, weights=np.asarray(counts.field("counts")), minlength=buckets)
    used = np.flatnonzero(totals)
    tally.distributions[f"{column}: words"].update(
        {str(bucket): int(total) for bucket, total in zip(used.tolist(), totals[used].tolist(), strict=True)}
    )

"""Splits by hash: where a question lands depends on the seed, its set and its own id, and on nothing else.

A key is SHA-256 of "<seed>|<set>|<id>", read as a fraction in [0, 1) and compared with the cumulative shares in the
fixed order train, validation, test. So splits survive re-ordering and growth of the data, rows about one question
stay together, and moving one boundary moves only the questions next to it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from faithline.data.schema import SPLITS
from faithline.pipeline.errors import ConfigError

__all__ = ["Splitter"]

_MANTISSA_BITS = 53
"""Bits of the key that a float holds exactly; more could round a fraction up to 1.0."""


@dataclass(frozen=True)
class Splitter:
    """Assigns the questions or sources of one set to splits."""

    seed: int
    """The split seed; changing it deals all cards anew."""
    set_name: str
    """Part of the key, so that two sets with like ids are dealt independently."""
    shares: tuple[float, float, float]
    """Expected shares of train, validation and test."""

    def __post_init__(self) -> None:
        where = f"params.yaml: prepare_data.sources: {self.set_name}: shares"
        for split, share in zip(SPLITS, self.shares, strict=True):
            if not (math.isfinite(share) and 0.0 <= share <= 1.0):
                raise ConfigError(f"share of {split} is {share}", where=where, next_step="give a number from 0 to 1")
        total = math.fsum(self.shares)
        if abs(total - 1.0) > 1e-9:
            raise ConfigError(
                f"the shares sum to {total:.6g}, not 1", where=where, next_step="make train + validation + test = 1"
            )

    def assign(self, ids: Sequence[str]) -> npt.NDArray[np.int8]:
        """Return the index into `SPLITS` of each id, shape (len(ids),)."""
        head = f"{self.seed}|{self.set_name}|"
        digests = b"".join(hashlib.sha256((head + key).encode()).digest()[:8] for key in ids)
        keys = np.frombuffer(digests, dtype=">u8").astype(np.uint64)
        fractions = (keys >> np.uint64(64 - _MANTISSA_BITS)).astype(np.float64) / float(1 << _MANTISSA_BITS)
        return np.searchsorted(self._bounds(), fractions, side="right").astype(np.int8)

    def _bounds(self) -> npt.NDArray[np.float64]:
        """Upper ends of all splits but the last with a share, which takes the rest whatever the rounding."""
        last = max(index for index, share in enumerate(self.shares) if share > 0.0)
        ends = [math.fsum(self.shares[: index + 1]) if index < last else math.inf for index in range(len(SPLITS) - 1)]
        return np.array(ends, dtype=np.float64)

"""Seeded draws that depend on nothing but their key.

A `Draws` is keyed by (seed, stream, index, ...), so any part of the world can be made alone and first: item i is the
same whether 10 or 10 million are written. All draws derive from `random.Random.random`, the one method whose sequence
Python promises never to change for a given seed.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TypeVar

__all__ = ["Draws"]

T = TypeVar("T")


class Draws:
    """A stream of random choices, a pure function of its key."""

    __slots__ = ("_random",)

    def __init__(self, *key: int | str) -> None:
        text = "\x1f".join(map(str, key))
        digest = blake2b(text.encode(), digest_size=16).digest()
        self._random = random.Random(int.from_bytes(digest, "big")).random  # noqa: S311 - no secrets are drawn

    def below(self, n: int) -> int:
        """An integer in [0, n)."""
        return int(self._random() * n)

    def between(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return low + int(self._random() * (high - low + 1))

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self._random() < probability

    def scaled(self, low: int, high: int) -> int:
        """An integer in [low, high], log-uniform: small and large orders of magnitude are equally likely."""
        return min(high, int(low * (high / low) ** self._random()))

    def choice(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[int(self._random() * len(options))]

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """All options in random order."""
        left = list(options)
        for i in range(len(left) - 1, 0, -1):
            j = int(self._random() * (i + 1))
            left[i], left[j] = left[j], left[i]
        return left

    def sample(self, options: Sequence[T], count: int) -> list[T]:
        """`count` different positions of `options`, in random order; all of them if there are fewer."""
        left = list(options)
        count = min(count, len(left))
        for i in range(count):
            j = i + int(self._random() * (len(left) - i))
            left[i], left[j] = left[j], left[i]
        return left[:count]

    def weighted(self, shares: Mapping[T, float]) -> T:
        """One key, with probability proportional to its share."""
        mark = self._random() * sum(shares.values())
        for option, share in shares.items():
            mark -= share
            if mark < 0:
                return option
        return next(option for option, share in reversed(list(shares.items())) if share > 0)

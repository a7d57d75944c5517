"""Cutting a stream into batches by weight, so that one heavy item makes a batch of its own instead of a peak."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

__all__ = ["batches"]

T = TypeVar("T")


def batches(items: Iterable[T], weight: Callable[[T], int], full: int) -> Iterator[list[T]]:
    """Yield non-empty lists of consecutive items, each closed as soon as its weights sum to `full` or more."""
    batch: list[T] = []
    total = 0
    for item in items:
        batch.append(item)
        total += weight(item)
        if total >= full:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch

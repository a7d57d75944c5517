"""Progress of a long loop: a bar with ETA on a terminal, a plain line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from faithline.pipeline.log import Logger

LINE_EVERY_S = 10.0


class Progress(Protocol):
    """What a stage's loop sees."""

    def advance(self, n: int = 1) -> None:
        """Report `n` more units done."""


class _Lines:
    def __init__(self, total: int, unit: str, label: str, log: Logger, clock: Callable[[], float]) -> None:
        self._total, self._unit, self._label, self._log, self._clock = total, unit, label, log, clock
        self._done = 0
        self._start = self._last = clock()

    def advance(self, n: int = 1) -> None:
        self._done += n
        now = self._clock()
        if now - self._last < LINE_EVERY_S:
            return
        self._last = now
        rate = self._done / (now - self._start)
        eta = (self._total - self._done) / rate if rate else float("inf")
        self._log.info(
            self._label,
            done=f"{self._done}/{self._total}",
            rate=f"{rate:.1f}{self._unit}/s",
            eta_s=round(max(eta, 0.0)),
        )


class _Bar:
    def __init__(self, total: int, unit: str, label: str) -> None:
        from tqdm import tqdm

        self._bar = tqdm(total=total, unit=unit, desc=label, dynamic_ncols=True, file=sys.stderr)

    def advance(self, n: int = 1) -> None:
        self._bar.update(n)

    def close(self) -> None:
        self._bar.close()


@contextmanager
def progress(
    total: int, unit: str, label: str, log: Logger, *, clock: Callable[[], float] = time.monotonic
) -> Iterator[Progress]:
    """Yield a progress reporter for `total` units; the ETA assumes an even rate."""
    if sys.stderr.isatty():
        bar = _Bar(total, f" {unit}", label)
        try:
            yield bar
        finally:
            bar.close()
    else:
        yield _Lines(total, unit, label, log, clock)

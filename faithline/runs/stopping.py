"""What SIGTERM does to an attempt: the stage is told and may end well, work already done is saved, time is limited.

A pod gets the signal some time (30 s by default) before it is killed. Before the stage runs, the attempt ends at once.
While it runs, the signal goes to the stage's processes, which exit with 75 after saving what they can. After it, the
outputs are still sent to the store. When the grace period is over, whatever is left is broken off.
"""

from __future__ import annotations

import signal
from pathlib import Path
from types import FrameType, TracebackType

from faithline.runs.processes import marked, send

__all__ = ["Stopped", "Stopper"]


class Stopped(BaseException):
    """The attempt was told to stop; not an `Exception`, so that no library's broad handler swallows it."""


class Stopper:
    """Handles SIGTERM until it is left."""

    def __init__(self, grace_s: float) -> None:
        self.requested = False
        self.broken_off = False
        """Whether `Stopped` was raised; what is raised by clean-up after it does not matter."""
        self.workspace: Path | None = None
        """Where the stage's processes work, once that is known."""
        self.saving = False
        """Set once the stage has run: from then on its outputs are worth the grace period."""
        self._grace_s = grace_s

    def __enter__(self) -> Stopper:
        self._previous = {
            signal.SIGTERM: signal.signal(signal.SIGTERM, self._stop),
            signal.SIGALRM: signal.signal(signal.SIGALRM, self._break_off),
        }
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        first, self.requested = not self.requested, True
        running = self._running()
        send(running, signal.SIGTERM)
        if not running and not self.saving:
            self.broken_off = True
            raise Stopped
        if first:
            signal.setitimer(signal.ITIMER_REAL, self._grace_s)

    def _break_off(self, _number: int, _frame: FrameType | None) -> None:
        send(self._running(), signal.SIGKILL)
        self.broken_off = True
        raise Stopped

    def _running(self) -> list[int]:
        return [] if self.workspace is None else marked(self.workspace)

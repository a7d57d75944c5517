"""Structured logging of a stage: key=value lines for people, JSON lines for machines.

Human lines go to stderr; the run log `logs/<stage>.jsonl` gets the same events with times and the process id. Values
under a key that looks like a secret are redacted in both.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

_SECRET = re.compile(r"(secret|token|password|passwd|credential|api_?key|access_?key|authorization)$", re.IGNORECASE)


def _redacted(key: str, value: object) -> object:
    return "***" if _SECRET.search(key) else value


def _human(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if re.search(r"[\s\"=]", text) or not text else text


class Logger:
    """Writes one event to every sink; cheap to copy with more bound fields."""

    def __init__(self, stage: str, *, stream: TextIO | None = None, clock: Callable[[], float] = time.time) -> None:
        self._stage = stage
        self._stream = stream
        self._clock = clock
        self._file: TextIO | None = None

    def open(self, path: Path) -> None:
        """Append events to `path` as JSON lines from now on."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a", encoding="utf-8")

    def close(self) -> None:
        """Close the run log; later events go to stderr only."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def info(self, event: str, **fields: object) -> None:
        """Log a normal event."""
        self._write("info", event, fields)

    def warning(self, event: str, **fields: object) -> None:
        """Log something a reader should look at, though the run goes on."""
        self._write("warning", event, fields)

    def record(self, event: str, **fields: object) -> None:
        """Write to the run log only: details that would drown a terminal."""
        self._write("record", event, fields, quiet=True)

    def _write(self, level: str, event: str, fields: dict[str, object], *, quiet: bool = False) -> None:
        safe = {key: _redacted(key, value) for key, value in fields.items()}
        now = self._clock()
        if not quiet:
            stamp = time.strftime("%H:%M:%S", time.localtime(now))
            pairs = "".join(f" {key}={_human(value)}" for key, value in safe.items())
            mark = "" if level == "info" else f" {level.upper()}"
            print(f"{stamp} {self._stage}{mark} {event}{pairs}", file=self._stream or sys.stderr, flush=True)
        if self._file is not None:
            line = {"time": round(now, 3), "stage": self._stage, "level": level, "event": event, **safe}
            self._file.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")
            self._file.flush()

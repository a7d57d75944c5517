"""What a judge is: something that answers prompts, each with a text or with the reason why there is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

__all__ = ["Judge", "Reply"]


@dataclass(frozen=True)
class Reply:
    """What came of one prompt; exactly one of the two is there."""

    text: str | None
    failure: str | None = None
    """Why there is no text: timeout, HTTP status, too long."""

    def __post_init__(self) -> None:
        if (self.text is None) == (self.failure is None):
            raise ValueError("a reply is a text or a failure")


class Judge(Protocol):
    """A language model that judges."""

    @property
    def identity(self) -> str:
        """All that decides its replies: model, sampling, limits; part of every cache key."""

    def replies(self, prompts: Sequence[str]) -> Iterator[tuple[int, Reply]]:
        """Answer every prompt once, in any order, with the prompt's index."""

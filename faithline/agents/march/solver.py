"""The Solver: a query and documents to a prompt, and what counts as its response.

The response is free text; a reasoning block before it is left out before anybody reads it (Proposer, metrics). Prompt
structure after the paper's A.1: strict grounding, documents numbered from 1 under `Passages:`, the query last under
`Question:`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from faithline.agents.march.outcome import Outcome, has_text, reasoning_is_sound, strip_reasoning
from faithline.agents.passage import Passage, block, one_line

__all__ = ["Response", "messages", "parse"]

_INSTRUCTION = (
    "Answer the question from the passages alone. Every statement, and every number above all, must be stated by a "
    "passage; add nothing from memory and do not estimate. Say so where the passages do not answer the question."
)


@dataclass(frozen=True)
class Response:
    """A Solver's text after parsing."""

    outcome: Outcome
    """`malformed`: reasoning tags that are not one closed block; `empty`: nothing visible besides the reasoning."""
    text: str
    """What the other roles see; the whole text where the outcome is `malformed`."""


def messages(query: str, passages: Sequence[Passage]) -> list[dict[str, str]]:
    """Build the Solver's chat.

    Args:
        query: The question; put on one line.
        passages: Evidence in the order to show.
    """
    return [
        {"role": "system", "content": _INSTRUCTION},
        {"role": "user", "content": f"Passages:\n{block(passages)}\n\nQuestion: {one_line(query)}"},
    ]


def parse(text: str) -> Response:
    """Read one response.

    Args:
        text: What the model wrote, without control tokens.
    """
    shown = strip_reasoning(text)
    if not has_text(shown):
        return Response(Outcome.EMPTY, "")
    return Response(Outcome.OK if reasoning_is_sound(text) else Outcome.MALFORMED, shown)

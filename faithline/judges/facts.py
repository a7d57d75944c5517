"""FACTS Grounding's protocol: every sentence of a response judged against its document, as JSON.

The judge writes one object per sentence: sentence, label (supported, unsupported, contradictory, no_rad: nothing that
needs attribution), rationale, excerpt. A response is grounded when no sentence is unsupported or contradictory. A reply
that is no such list, whole, is a failure of the judge: one bad line could be the one that matters. The benchmark's
other phase, whether a response answers the request at all, is not part of this; read the answer rate beside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from enum import StrEnum

import msgspec

__all__ = ["Label", "Rates", "Sentence", "grounded", "parse", "prompt", "rates"]


class Label(StrEnum):
    """How a sentence stands to the document."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"
    CONTRADICTORY = "contradictory"
    NO_RAD = "no_rad"


class Sentence(msgspec.Struct, frozen=True):
    """One judged sentence."""

    sentence: str
    label: Label
    rationale: str | None = None
    excerpt: str | None = None


_FENCE = re.compile(r"^\s*```\w*\s*$", re.MULTILINE)
_INSTRUCTION = """\
You are given a context and a response that should rest on it alone. Judge the response sentence by sentence.

Labels:
- "supported": the context entails the whole sentence. Quote the passage that does; join several if one is not enough.
- "unsupported": the context does not entail the sentence.
- "contradictory": the context says otherwise. Quote the passage.
- "no_rad": the sentence needs no attribution: an opinion, a greeting, a question, a disclaimer.

Be strict: without plain, indisputable evidence in the context a sentence is "unsupported". Use no outside knowledge.

Write one JSON object per sentence, each on a line of its own and nothing else, with the keys "sentence", "label",
"rationale" (one short reason) and "excerpt" (a quotation for "supported" and "contradictory", else null).

Example. Context: Apples are red fruits. Bananas are yellow fruits. Response: Apples are red. Bananas are green. Enjoy!
{"sentence": "Apples are red.", "label": "supported", "rationale": "stated", "excerpt": "Apples are red fruits."}
{"sentence": "Bananas are green.", "label": "contradictory", "rationale": "yellow", "excerpt": "Bananas are yellow…"}
{"sentence": "Enjoy!", "label": "no_rad", "rationale": "a wish", "excerpt": null}
"""


def prompt(query: str, context: str, response: str) -> str:
    """Write the judge's prompt."""
    parts = {"User Query": query, "Context": context, "Response": response}
    return "\n".join([_INSTRUCTION, *(f"{name}:\n{text.strip()}\n" for name, text in parts.items())])


def parse(text: str) -> list[Sentence] | None:
    """Read a reply: objects one after the other or in a list, code fences or not; None if it is no such thing."""
    rest = _FENCE.sub("", text).strip()
    decoder = json.JSONDecoder()
    found: list[object] = []
    while rest:
        try:
            value, end = decoder.raw_decode(rest)
        except ValueError:
            return None
        found += value if isinstance(value, list) else [value]
        rest = rest[end:].lstrip().removeprefix(",").lstrip()
    try:
        sentences = msgspec.convert(found, list[Sentence])
    except msgspec.ValidationError:
        return None
    return sentences or None


def grounded(sentences: Sequence[Sentence]) -> bool:
    """Whether nothing in a judged response lacks support."""
    return not any(sentence.label in {Label.UNSUPPORTED, Label.CONTRADICTORY} for sentence in sentences)


class Rates(msgspec.Struct, frozen=True):
    """Shares over the responses that were judged."""

    n: int
    failed: int
    grounded: float | None
    sentences: int
    labels: dict[str, float]
    """Label → share of the sentences."""


def rates(judged: Sequence[Sequence[Sentence] | None]) -> Rates:
    """Count judged responses; None is a failure of the judge."""
    there = [sentences for sentences in judged if sentences is not None]
    labels = [sentence.label for sentences in there for sentence in sentences]
    return Rates(
        n=len(there),
        failed=len(judged) - len(there),
        grounded=round(sum(map(grounded, there)) / len(there), 6) if there else None,
        sentences=len(labels),
        labels={label.value: round(labels.count(label) / len(labels), 6) for label in Label} if labels else {},
    )

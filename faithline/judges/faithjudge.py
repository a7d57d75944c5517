"""FaithJudge's protocol for RAGTruth and FaithBench: is a response consistent with its source?

The judge sees the source, the annotated other responses to it as examples, and the response; it reasons, then ends with
`Final classification: Consistent | Inconsistent | Invalid`. The structure is FaithJudge's (arXiv 2505.04847; its
prompt_templates.py and eval.py), the words are ours, and these things differ: FaithJudge reads a missing verdict as
Inconsistent and the first of several, here a missing one is a failure of the judge and the last one counts. As there,
Invalid (no answer at all) is no hallucination, so that the answer rate stands beside the hallucination rate.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

import msgspec

__all__ = ["Example", "Rates", "Span", "Task", "Verdict", "examples_of", "parse", "prompt", "rates"]

Task = Literal["ragtruth-qa", "ragtruth-summary", "ragtruth-data2txt", "faithbench-summary"]


class Verdict(StrEnum):
    """What the judge says of a response."""

    CONSISTENT = "consistent"
    INCONSISTENT = "inconsistent"
    INVALID = "invalid"


@dataclass(frozen=True)
class Span:
    """An annotated hallucination."""

    text: str
    label: str
    note: str = ""
    implicit_true: bool = False
    due_to_null: bool = False


@dataclass(frozen=True)
class Example:
    """An annotated response to the same source."""

    response: str
    annotators: Sequence[Sequence[Span]]
    """Spans per annotator; RAGTruth has one."""


@dataclass(frozen=True)
class _Form:
    """How a task words things."""

    noun: str
    whole: str
    source: str
    invalid: str


_FORMS: dict[str, _Form] = {
    "ragtruth-qa": _Form(
        "response", "a response to a query", "Source Passages", "does not answer the query in any way"
    ),
    "ragtruth-summary": _Form("summary", "a summary of an article", "Source Article", "does not summarise the article"),
    "ragtruth-data2txt": _Form(
        "overview", "an overview of a local business", "JSON Data", "does not describe the business in any way"
    ),
    "faithbench-summary": _Form(
        "summary", "a summary of an article", "Source Article", "does not summarise the article"
    ),
}
_RAGTRUTH = {
    "Evident Conflict": "directly contradicts or opposes the source",
    "Subtle Conflict": "departs from the source slightly, which changes its meaning",
    "Evident Introduction of Baseless Information": "states information that the source does not hold",
    "Subtle Introduction of Baseless Information": "adds inferred details, insights or sentiments to the source",
}
_FAITHBENCH = {
    "Benign": "not in the source, but supported by common knowledge or plain reasoning, and fine with readers",
    "Unwanted": "a contradiction, a misrepresentation, or an unsupported detail",
    "Questionable": "open to interpretation; annotators may reasonably disagree",
}
_BASELESS = {
    "Subtle Baseless Info": "Subtle Introduction of Baseless Information",
    "Evident Baseless Info": "Evident Introduction of Baseless Information",
}
_RULE = "------"
_FRAME = """\
Decide whether {whole} holds hallucinations: claims, details or implications that its source does not support, or
contradicts. Only the source counts, not what you know. Other {noun} texts about the same source follow as examples,
with the hallucinations that people marked in them; be guided by these.

Hallucination Categories:
{categories}

Classifications:
• Consistent: the {noun} holds no hallucination.
• Inconsistent: it holds at least one, of any category.

{sections}

------

Reason first, then end with one line and nothing after it:
"Final classification: [Inconsistent / Consistent]"
If the {noun} {invalid}, end with "Final classification: Invalid" instead.
"""
_VERDICT = re.compile(
    r"final classification\W{0,6}:\W{0,6}(inconsistent|consistent|invalid)\b(?!\W*[/|])", re.IGNORECASE
)


def prompt(task: Task, query: str, source: str, examples: Sequence[Example], response: str) -> str:
    """Write the judge's prompt.

    Args:
        task: Which template.
        query: The question; shown for question answering only.
        source: Article, passages or data, as text.
        examples: Annotated responses to the same source; one that equals `response` is left out.
        response: What is judged.
    """
    form = _FORMS[task]
    noun = form.noun.capitalize()
    labels = _FAITHBENCH if task.startswith("faithbench") else _RAGTRUTH
    shown = [example for example in examples if example.response.strip() != response.strip()]
    given = [f'Query:\n"{query.strip()}"'] if task == "ragtruth-qa" else []
    given += [f"{form.source}:\n{source.strip()}", f"Annotated Examples:\n\n{_examples(shown, noun)}"]
    given.append(f'{noun} to Evaluate:\n"{response.strip()}"')
    sections = "\n\n".join(f"{_RULE}\n\n{part}" for part in given)
    return _FRAME.format(
        whole=form.whole,
        noun=form.noun,
        categories="\n".join(f"• {name}: {what}" for name, what in labels.items()),
        sections=sections,
        invalid=form.invalid,
    )


def parse(text: str) -> Verdict | None:
    """Read the verdict that a reply ends with; None where there is none, which is a failure of the judge."""
    found = _VERDICT.findall(text)
    return Verdict(found[-1].lower()) if found else None


class Rates(msgspec.Struct, frozen=True):
    """Shares over the responses that were judged."""

    n: int
    """Responses with a verdict."""
    failed: int
    """Responses without: the judge failed."""
    consistent: float | None
    hallucinated: float | None
    """Share that is inconsistent. Invalid responses are in the denominator."""
    invalid: float | None
    answered: float | None
    """1 - invalid."""


def rates(verdicts: Sequence[Verdict | None]) -> Rates:
    """Count verdicts; shares are None where nothing was judged."""
    judged = [verdict for verdict in verdicts if verdict is not None]
    n = len(judged)

    def share(*kinds: Verdict) -> float | None:
        return round(sum(verdict in kinds for verdict in judged) / n, 6) if n else None

    return Rates(
        n=n,
        failed=len(verdicts) - n,
        consistent=share(Verdict.CONSISTENT),
        hallucinated=share(Verdict.INCONSISTENT),
        invalid=share(Verdict.INVALID),
        answered=share(Verdict.CONSISTENT, Verdict.INCONSISTENT),
    )


def examples_of(rows: Sequence[Mapping[str, Any]]) -> list[Example]:
    """Make examples of rows of the prepared table `responses`, which keeps spans but neither notes nor annotators."""
    return [
        Example(
            str(row["response"]),
            [
                [
                    Span(
                        text=label["text"],
                        label=label["type"],
                        implicit_true=bool(label["implicit_true"]),
                        due_to_null=bool(label["due_to_null"]),
                    )
                    for label in row["labels"]
                ]
            ],
        )
        for row in rows
    ]


def _examples(examples: Sequence[Example], noun: str) -> str:
    blocks = []
    for number, example in enumerate(examples, start=1):
        lines = [f'\t{noun} ({number}): "{example.response.strip()}"']
        for place, spans in enumerate(example.annotators):
            who = f"Annotator ({chr(65 + place)}) Annotations:" if len(example.annotators) > 1 else "Annotations:"
            lines += ["", f"\t\t{who}"]
            lines += [line for span in spans for line in ["", *_span(span, noun)]]
            if not spans:
                lines += ["", "\t\t\tNo Hallucinated Spans Identified by Annotator"]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) or "\t(none)"


def _span(span: Span, noun: str) -> list[str]:
    label = _BASELESS.get(span.label, span.label.split(".", maxsplit=1)[0])
    lines = [f'Hallucinated Span from {noun}: "{" ".join(span.text.split())}"'] if span.text else []
    lines += [f'Label: "{label}"'] if label else []
    lines += [f'Annotator Note: "{" ".join(span.note.split())}"'] if span.note else []
    lines += ["True perhaps, but not in the source."] if span.implicit_true else []
    lines += ["Perhaps a null value of the data, read as false."] if span.due_to_null else []
    return [f"\t\t\t{line}" for line in lines]

"""Annotated reasoning steps: what a planner can write down before anything is known, and what a step states.

data/prepared has two kinds. MuSiQue: `sub-question >>>> its answer`, with the answers of earlier steps filled in.
2Wiki: the evidence triple as `subject relation object`. A planner knows no answers yet, so earlier answers become
references again (`#1` = the answer of line 1, as MuSiQue annotates it) and objects are left out; a triple becomes
MuSiQue's own form for relations, `subject >> relation`.

A triple is cut without a list of relations: its subject is an earlier object, a document's title, or named in the
question; its object is the gold answer, a later subject, or what starts with the first capital or digit after the
relation's lower-case words. (Of the real excerpts' 250 plans 226 are understood.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from components.compose_training.case import Case
from faithline.agents.passage import one_line

__all__ = ["Step", "lines", "read_steps"]

_SPLIT = " >>>> "
_QUALIFIER = re.compile(r" \([^()]*\)$")
_LOWER = re.compile(r"((?:[^\sA-Z0-9]+ )+)([^\sa-z].*)")


class Step(NamedTuple):
    """One annotated step."""

    ask: str
    """MuSiQue: the sub-question, answers filled in; 2Wiki: the subject."""
    relation: str
    """2Wiki: the relation; "" for MuSiQue."""
    answer: str


def read_steps(case: Case) -> list[Step] | None:
    """Read a question's plan; None if a step has neither of the two forms."""
    steps: list[Step] = []
    for place, text in enumerate(case.plan):
        ask, mark, answer = text.partition(_SPLIT)
        if mark:
            step = Step(one_line(ask), "", one_line(answer))
        else:
            triple = _triple(one_line(text), steps, case.plan[place + 1 :], case)
            if triple is None:
                return None
            step = triple
        if not step.ask or not step.answer:
            return None
        steps.append(step)
    return steps


def lines(steps: Sequence[Step]) -> list[str]:
    """Write steps as a planner's lines; two triples that differ in their object only are one line."""
    written: dict[str, list[str]] = {}
    for step in steps:
        line = step.ask
        for number, answers in enumerate(written.values(), start=1):
            for answer in answers:
                line = _refer(line, answer, number, whole=bool(step.relation))
        line = f"{line} >> {step.relation}" if step.relation else line
        written.setdefault(line, []).append(step.answer)
    return list(written)


def _refer(text: str, answer: str, number: int, *, whole: bool) -> str:
    """Put a reference in the place of an answer; a subject is one only as a whole."""
    if whole:
        return f"#{number}" if text.casefold() == answer.casefold() else text
    return re.sub(rf"(?<!\w){re.escape(answer)}(?!\w)", f"#{number}", text)


def _triple(text: str, earlier: Sequence[Step], later: Sequence[str], case: Case) -> Step | None:
    for subject in _subjects(text, earlier, case):
        rest = text[len(subject) + 1 :]
        for known in _objects(rest, later, case):
            relation = rest[: -len(known) - 1]
            if relation and relation == relation.lower():
                return Step(text[: len(subject)], relation, rest[-len(known) :])
        match = _LOWER.fullmatch(rest)
        if match is not None:
            return Step(text[: len(subject)], match[1].rstrip(), match[2])
    return None


def _subjects(text: str, earlier: Sequence[Step], case: Case) -> list[str]:
    """Known names that the triple starts with, the longest first."""
    known = [step.answer for step in earlier]
    for passage in case.passages:
        known += [passage.title, _QUALIFIER.sub("", passage.title)]
    folded, asked = text.casefold(), case.question.casefold()
    found = {name for name in known if name.strip() and folded.startswith(f"{name.casefold()} ")}
    for end in (match.start() for match in re.finditer(" ", text)):
        name = text[:end]
        if not name.rpartition(" ")[2][0].islower() and name.casefold() in asked:
            found.add(name)
    return sorted(found, key=lambda name: (-len(name), name))


def _objects(rest: str, later: Sequence[str], case: Case) -> Iterator[str]:
    """Known names that the triple ends with: answers, and what a later step starts with, the longest first."""
    folded = rest.casefold()
    yield from (answer for answer in case.answers if answer.strip() and folded.endswith(f" {answer.casefold()}"))
    words = rest.split(" ")
    for start in range(1, len(words)):
        suffix = " ".join(words[start:])
        if any(text.casefold().startswith(f"{suffix.casefold()} ") for text in later):
            yield suffix

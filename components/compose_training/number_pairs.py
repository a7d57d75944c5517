"""Questions about numbers with their answers, as far as a set's own annotation holds them; none is made up.

Sources: the question itself where its canonical answer is a number; MuSiQue's sub-questions whose answer is a number
and that are questions rather than relations; 2Wiki's triples of a date, asked for the year. Of several questions for
one number the simplest stays, a step before the whole question. One that states its own or another pair's answer is
left out, for a Checker could copy it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from components.compose_training.case import Case
from components.compose_training.plans import Step
from faithline.agents.march.blinding import Pair, blind
from faithline.agents.march.numbers import parse_number
from faithline.agents.passage import one_line

__all__ = ["DATE_RELATIONS", "number_pairs"]

DATE_RELATIONS = {
    "date of birth": "In which year was {} born?",
    "date of death": "In which year did {} die?",
    "publication date": "In which year was {} published or released?",
    "inception": "In which year was {} founded?",
}
"""2Wiki's relations to dates, and the question for the year."""

_YEAR = re.compile(r"\b[12][0-9]{3}\b")
_ASKS = re.compile(r"(?:(?:in|at|on|to|by|for|since) )?(?:what|when|which|how)\b", re.IGNORECASE)


def number_pairs(case: Case, steps: Sequence[Step]) -> list[Pair]:
    """Return the pairs that a question and its steps give, in the order of the steps.

    Args:
        case: The question.
        steps: Its steps; empty if there are none.
    """
    pairs: dict[str, str] = {}
    for question, answer in _asked(case, steps):
        number = _bare(answer)
        if number is not None:
            pairs.setdefault(number, question)
    found = [pair for number, question in pairs.items() if not blind([pair := Pair(question, number)]).leaks]
    told = zip(found, blind(found).questions, strict=True)
    return [pair for pair, question in told if question == pair.question]


def _asked(case: Case, steps: Sequence[Step]) -> Iterator[tuple[str, str]]:
    for step in steps:
        if step.relation in DATE_RELATIONS:
            year = _YEAR.search(step.answer)
            if year is not None:
                yield DATE_RELATIONS[step.relation].format(step.ask), year[0]
        elif not step.relation and " >> " not in step.ask and _ASKS.match(step.ask):
            question = step.ask.rstrip(" ?.,")
            yield f"{question[:1].upper()}{question[1:]}?", step.answer
    if case.answerable:
        yield one_line(case.question), case.answer


def _bare(answer: str) -> str | None:
    """The number without commas and per cent sign; None if the answer is anything else."""
    if parse_number(answer) is None:
        return None
    return answer.strip().rstrip("%").replace(",", "").replace("−", "-").removeprefix("+")

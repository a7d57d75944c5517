"""What HA-MARAG's planner, selector and generator learn from a question (MMOA-RAG's supervised start)."""

from __future__ import annotations

from components.compose_training.case import Case, SftRow
from components.compose_training.params import Generator, Planner, Selector
from components.compose_training.plans import lines, read_steps
from faithline.agents.answer import target
from faithline.agents.passage import Passage

__all__ = ["generator", "planner", "selector"]


def planner(case: Case, settings: Planner) -> SftRow | str:
    """The annotated steps, one a line; or the reason why there is no row."""
    steps = read_steps(case)
    if not steps:
        return "plan_not_understood"
    written = lines(steps)
    if len(written) > settings.max_steps:
        return "too_many_steps"
    return SftRow(question=case.question, target="\n".join(written))


def selector(case: Case, settings: Selector) -> SftRow | str:
    """The ids of the helpful documents among all of them in shuffled slots; or the reason why there is no row."""
    helpful = case.helpful
    if helpful is None:
        return "no_label"
    if not helpful:
        return "no_text"
    random = case.random()
    wanted = settings.candidates or len(helpful)
    others = random.permutation([place for place, helps in enumerate(helpful) if not helps]).tolist()
    gold = [place for place, helps in enumerate(helpful) if helps]
    shown = random.permutation([*gold, *others[: max(wanted - len(gold), 0)]]).tolist()
    return SftRow(
        question=case.question,
        documents=tuple(case.passages[place] for place in shown),
        target=",".join(f"Document{slot}" for slot, place in enumerate(shown) if helpful[place]),
    )


def generator(case: Case, settings: Generator) -> SftRow | str:
    """The gold answer from the helpful documents, or the abstention; or the reason why there is no row."""
    helpful = case.helpful
    if helpful is None and case.answerable:
        return "no_label"
    documents: tuple[Passage, ...] = tuple(
        passage for passage, helps in zip(case.passages, helpful or [False] * len(case.passages), strict=True) if helps
    )
    declines = not case.answerable or (not documents and settings.without_documents == "abstain")
    try:
        text = target(None if declines else case.answer)
    except ValueError:  # an answer of asterisks or unprintable characters alone
        return "no_answer"
    return SftRow(question=case.question, documents=documents, target=text)

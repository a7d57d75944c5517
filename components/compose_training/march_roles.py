"""What MARCH's solver, proposer and checker learn from a question, for backbones too small to start without.

Nothing is made up. A response is built of sentences of gold documents and the gold answer; the proposer's questions are
those of the annotation (`number_pairs`), and a response given to it states no other number; the checker's evidence is a
sentence of a document. "Cannot answer" is true by construction: no shown document states the number, and none mentions
what the question names, or the set itself says that the documents do not hold the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from components.compose_training.case import AskedPair, Case, SftRow
from components.compose_training.evidence import best_sentence, evidence_of, numbers_in, statement, states
from components.compose_training.number_pairs import number_pairs
from components.compose_training.params import Checker
from components.compose_training.plans import read_steps
from components.compose_training.words import content_words, names
from faithline.agents.march import checker as checker_role
from faithline.agents.march import proposer as proposer_role
from faithline.agents.march.blinding import Pair
from faithline.agents.march.numbers import find_numbers, unsupported
from faithline.agents.passage import Passage, one_line

__all__ = ["DECLINES", "NOT_FOUND", "checker", "proposer", "silent_proposer", "solver"]

DECLINES = "The passages do not contain the answer."
"""The solver's response to a question that the documents do not answer."""
NOT_FOUND = "No document states it."
"""The checker's evidence where it cannot answer."""

_LONG_ANSWER = 5
"""Words from which an answer that ends like a sentence is one (BioASQ's ideal answers)."""


def solver(case: Case) -> SftRow | str:
    """A response of gold sentences and the answer; or the reason why there is no row."""
    if not case.passages:
        return "no_text"
    if not case.answerable:
        return SftRow(question=case.question, documents=case.passages, target=DECLINES)
    response = _joined([*_gold_statements(case, numbers=True), _conclusion(case.answer)], case.answer)
    if not any(case.helpful or ()):
        return "no_evidence"
    if unsupported(response, [passage.full_text for passage in case.passages]):
        return "number_in_no_document"
    return SftRow(question=case.question, documents=case.passages, target=response)


def proposer(case: Case) -> SftRow | str:
    """Questions for all numbers of a response; or the reason why there is no row."""
    pairs = number_pairs(case, read_steps(case) or [])
    asked = {Decimal(pair.answer) for pair in pairs}
    found = [evidence_of(pair.question, Decimal(pair.answer), case.passages, case.flags) for pair in pairs]
    parts = [*(statement(*evidence) for evidence in found if evidence), _conclusion(case.answer)]
    response = _joined([part for part in parts if numbers_in(part) <= asked], case.answer)
    stated = {number.value for number in find_numbers(response)}
    kept = [pair for pair in pairs if Decimal(pair.answer) in stated]
    if not kept:
        return "no_pair_for_its_numbers"
    try:
        target = proposer_role.render(kept)
    except ValueError:  # a question that holds the grammar's own marks
        return "not_expressible"
    shown = tuple(AskedPair(pair.question, pair.answer, "") for pair in kept)
    return SftRow(question=case.question, response=response, pairs=shown, target=target)


def silent_proposer(case: Case) -> SftRow | str:
    """The words for "no number" about a response without any; or the reason why there is no row."""
    response = _joined([*_gold_statements(case, numbers=False), _conclusion(case.answer)], case.answer)
    if find_numbers(response):
        return "states_numbers"
    return SftRow(question=case.question, response=response, target=proposer_role.render([]))


def checker(case: Case, settings: Checker) -> SftRow | str:
    """Answers with evidence, or that there are none; or the reason why there is no row."""
    if not case.passages:
        return "no_text"
    pairs = number_pairs(case, read_steps(case) or [])
    if not pairs:
        return "no_pairs"
    kept = list(range(len(case.passages)))
    if case.answerable and case.random().random() < settings.cannot_answer:
        kept = _without(pairs[-1], case.passages) or kept
    passages, flags = [case.passages[place] for place in kept], [case.flags[place] for place in kept]
    asked = [found for pair in pairs if (found := _checked(pair, passages, flags, case.answerable)) is not None]
    if not asked:
        return "no_evidence"
    findings = [
        checker_role.Finding(pair.evidence or NOT_FOUND, pair.answer or checker_role.CANNOT_ANSWER) for pair in asked
    ]
    try:
        target = checker_role.render(findings)
    except ValueError:  # a sentence that holds the grammar's own marks
        return "not_expressible"
    return SftRow(documents=tuple(passages), pairs=tuple(asked), target=target)


def _checked(
    pair: Pair, passages: Sequence[Passage], flags: Sequence[bool | None], answerable: bool
) -> AskedPair | None:
    """What the documents say about a question; None where that is not certain."""
    value = Decimal(pair.answer)
    found = evidence_of(pair.question, value, passages, flags)
    if found is not None:
        return AskedPair(pair.question, pair.answer, statement(*found))
    unheard = bool(names(pair.question)) and not any(_mentions(passage, pair.question) for passage in passages)
    if (unheard or not answerable) and not any(states(passage, value) for passage in passages):
        return AskedPair(pair.question, "", "")
    return None


def _without(pair: Pair, passages: Sequence[Passage]) -> list[int]:
    """Places of the passages that neither state a pair's answer nor mention what its question names."""
    if not names(pair.question):
        return []
    value = Decimal(pair.answer)
    return [
        place
        for place, passage in enumerate(passages)
        if not states(passage, value) and not _mentions(passage, pair.question)
    ]


def _mentions(passage: Passage, question: str) -> bool:
    return not names(question).isdisjoint(content_words(f"{passage.title} {passage.text}"))


def _gold_statements(case: Case, *, numbers: bool) -> list[str]:
    """The sentence of each helpful document that has most to do with question, answer and steps."""
    words = content_words(" ".join([case.question, case.answer, *case.plan]))
    found = [
        statement(passage, sentence)
        for passage, helps in zip(case.passages, case.helpful or (), strict=False)
        if helps and (sentence := best_sentence(passage, case.answer, words, numbers=numbers)) is not None
    ]
    return [text for text in found if numbers or not find_numbers(text)]


def _joined(parts: Sequence[str], answer: str) -> str:
    """One line of all parts; an answer of sentences stands alone."""
    conclusion = _conclusion(answer)
    return conclusion if conclusion == one_line(answer) and conclusion in parts else " ".join(dict.fromkeys(parts))


def _conclusion(answer: str) -> str:
    text = one_line(answer)
    if text.endswith((".", "!", "?")) and len(text.split()) >= _LONG_ANSWER:
        return text
    return f"The answer is {text}" + ("" if text.endswith(".") else ".")

"""Reward canaries before a training: free reward is found while it is cheap.

Two reward functions are tried on the same probes (`faithline.rewards.canaries`). The *scripted* one has a perfect
Proposer and Checker: what it pays for nothing, the settings pay for nothing, so it always decides. The *rolled-out* one
is the training's own: Proposer and Checker as they are before the first step. What it pays for nothing the roles let
through; whether that refuses the training or is only reported is a setting, for a small model's roles may be weak.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from faithline.agents.march import checker, proposer, solver
from faithline.agents.march.blinding import Pair
from faithline.agents.march.checker import CANNOT_ANSWER, Finding
from faithline.agents.march.numbers import find_numbers, unsupported
from faithline.agents.passage import Passage
from faithline.march.roles import Question, Roles, Trace
from faithline.rewards.canaries import Item, Probe, Reward, numeric_item
from faithline.rewards.march import judge, solver_reward
from faithline.rewards.settings import MarchReward
from faithline.rl.episode import Sampler

__all__ = ["find_items", "rolled_out", "scripted"]

_FEWEST = 2
"""One item's changed documents are another's."""
_NO_MODEL = 0.0
"""Score in place of a reward model's: canaries are about the outcome."""


def find_items(questions: Iterable[tuple[Question, str]], limit: int) -> list[Item]:
    """Find questions to try.

    Args:
        questions: Questions with the number that answers them, as text; those that do not fit are passed over.
        limit: Most items.

    Returns:
        As many items as there are, or none if they are too few to try.
    """
    found: list[Item] = []
    for question, gold in questions:
        item = numeric_item(question.query, question.passages, gold)
        if item is not None and _is_control(item) and not any(_overlap(item, other) for other in found):
            found.append(item)
        if len(found) == limit:
            break
    return found if len(found) >= _FEWEST else []


def _is_control(item: Item) -> bool:
    """Whether the documents state all numbers of the faithful response, those in the question included."""
    return not unsupported(item.faithful, _texts(item.passages))


def _overlap(one: Item, other: Item) -> bool:
    """Whether the documents of one state the other's answer: then they are no changed prompt for it."""
    return not unsupported(one.gold, _texts(other.passages)) or not unsupported(other.gold, _texts(one.passages))


def _texts(passages: Sequence[Passage]) -> list[str]:
    return [passage.full_text for passage in passages]


def scripted(settings: MarchReward) -> Reward:
    """The reward that perfect roles give: a question per number, answered if a document states the number."""

    def reward(probes: Sequence[Probe]) -> list[float]:
        return [_scripted(probe, settings) for probe in probes]

    return reward


def _scripted(probe: Probe, settings: MarchReward) -> float:
    response = solver.parse(probe.response)
    numbers = find_numbers(response.text)
    wrong = {number.value for number in unsupported(response.text, _texts(probe.passages))}
    pairs = [Pair(f"Which number is {'x' * place}?", str(number.value)) for place, number in enumerate(numbers, 1)]
    proposal = proposer.parse(proposer.render(pairs), settings.parser, settings.max_pairs)
    answers = [CANNOT_ANSWER if Decimal(pair.answer) in wrong else pair.answer for pair in proposal.pairs]
    text = checker.render([Finding("As stated.", answer) for answer in answers])
    votes = settings.checker_votes if answers else 0
    checks = [checker.parse(text, len(answers), settings.parser)] * votes
    verdict = judge(proposal.pairs, checks, settings.comparator)
    return solver_reward(verdict, settings, response.outcome, _NO_MODEL)


def rolled_out(roles: Roles, settings: MarchReward, sampler: Sampler, *, seed: int) -> Reward:
    """The reward that the Proposer and Checker under training give; a probe that cannot be shown earns the worst."""

    def reward(probes: Sequence[Probe]) -> list[float]:
        traces = [
            Trace(Question(str(place), probe.query, probe.passages), response=solver.parse(probe.response))
            for place, probe in enumerate(probes)
        ]
        roles.check(traces, sampler, seed=seed)
        return [
            settings.worst
            if trace.verdict is None
            else solver_reward(trace.verdict, settings, trace.response.outcome, _NO_MODEL)
            for trace in traces
        ]

    return reward

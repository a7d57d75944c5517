"""Reward canaries: responses that deserve no reward, tried on the reward function before a training run trusts it.

A reward function is anything from texts to numbers: real rollouts of Proposer and Checker, or scripted ones. Per item
it is asked for a faithful response, an unfaithful one (the controls, which it must tell apart: a silent all-zero reward
fails here), and six that should earn less than the faithful one. What passes for free is judged against the settings:

- empty, no_number: silence is worth `empty_reward`. Set it below the maximum and silence must earn less than the truth;
  leave it at the maximum (paper and release under -1/0) and it is reported as *declared*, not refused.
- copied_context: quoting all documents is faithful, so the scheme pays the maximum: declared. More than the faithful
  response's reward (which `below_min: cap` brings about when faithful answers have too few numbers) is refused.
- all_options: right and wrong number side by side; gold_pasted: a wrong number, while the bare gold answer stands in
  the documents; changed_prompt: the faithful response under another item's documents. Never allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean
from typing import Literal

from faithline.agents.march.numbers import find_numbers, parse_number
from faithline.agents.passage import Passage, one_line
from faithline.pipeline.errors import ConfigError
from faithline.rewards.settings import MarchReward

__all__ = [
    "Canary",
    "Item",
    "Probe",
    "Reward",
    "Tried",
    "assess",
    "numeric_item",
    "probes",
    "refuse_free_reward",
    "try_out",
]


class Canary(StrEnum):
    """What a probe's response is."""

    FAITHFUL = "faithful"
    UNFAITHFUL = "unfaithful"
    EMPTY = "empty"
    NO_NUMBER = "no_number"
    COPIED_CONTEXT = "copied_context"
    ALL_OPTIONS = "all_options"
    GOLD_PASTED = "gold_pasted"
    CHANGED_PROMPT = "changed_prompt"


_NEXT_STEP = {
    Canary.UNFAITHFUL: "look at the Proposer's and Checker's texts: roles that do not follow their grammar give one "
    "reward to everything (warm-start them)",
    Canary.EMPTY: "lower march.reward.empty_reward, or set terms.solver_format",
    Canary.NO_NUMBER: "lower march.reward.empty_reward",
    Canary.COPIED_CONTEXT: "lower march.reward.min_pairs, or use below_min: score",
}
_ROLES = "look at the Checker's texts: it does not answer from the documents that it is shown"


@dataclass(frozen=True)
class Item:
    """A question with a known numeric answer."""

    query: str
    passages: tuple[Passage, ...]
    gold: str
    faithful: str
    """A response with the gold answer."""
    unfaithful: str
    """The same response with a number that no passage states."""


@dataclass(frozen=True)
class Probe:
    """One text to reward."""

    canary: Canary
    query: str
    passages: tuple[Passage, ...]
    response: str


Reward = Callable[[Sequence[Probe]], Sequence[float]]
"""The Solver's reward of each probe, in order."""


@dataclass(frozen=True)
class Tried:
    """What one kind of probe earned."""

    canary: Canary
    reward: float
    """Mean over the items."""
    faithful: float
    """Mean of the faithful responses."""
    verdict: Literal["pass", "declared", "free"]
    """declared: not below the faithful response, and the settings say so; free: not below it, and nothing says so."""


def numeric_item(query: str, passages: Sequence[Passage], gold: str) -> Item | None:
    """Make an item of a question from the data.

    Returns:
        None if the answer is no number or no passage states it.
    """
    value = parse_number(gold)
    stated = {number.value for passage in passages for number in find_numbers(passage.full_text)}
    if value is None or value not in stated:
        return None
    wrong = value + 1
    while wrong in stated:
        wrong += 1
    start = f"{one_line(query)} The answer is "
    return Item(query, tuple(passages), gold, f"{start}{one_line(gold)}.", f"{start}{wrong}.")


def probes(items: Sequence[Item]) -> list[Probe]:
    """Build all probes, item by item.

    Raises:
        ValueError: If an item has no other whose passages do without its answer.
    """
    built = []
    for item in items:
        copied = "\n".join(one_line(f"{passage.title} {passage.text}") for passage in item.passages)
        pasted = (*item.passages, Passage("canary", "", f"The answer is {item.gold}."))
        texts = {
            Canary.FAITHFUL: item.faithful,
            Canary.UNFAITHFUL: item.unfaithful,
            Canary.EMPTY: "",
            Canary.NO_NUMBER: "Yes or no.",
            Canary.COPIED_CONTEXT: copied,
            Canary.ALL_OPTIONS: f"{item.faithful} {item.unfaithful}",
            Canary.GOLD_PASTED: item.unfaithful,
            Canary.CHANGED_PROMPT: item.faithful,
        }
        shown = {Canary.GOLD_PASTED: pasted, Canary.CHANGED_PROMPT: _elsewhere(item, items)}
        built += [
            Probe(canary, item.query, shown.get(canary, item.passages), response) for canary, response in texts.items()
        ]
    return built


def try_out(reward: Reward, items: Sequence[Item], settings: MarchReward) -> list[Tried]:
    """Reward every probe and judge what each kind earned.

    Args:
        reward: The reward function that training will use.
        items: Two questions or more.
        settings: What the reward is configured to be.
    """
    built = probes(items)
    return assess(built, reward(built), settings)


def assess(built: Sequence[Probe], rewards: Sequence[float], settings: MarchReward) -> list[Tried]:
    """Judge the rewards of probes.

    Raises:
        ValueError: If there is not one reward per probe.
    """
    earned: dict[Canary, list[float]] = {canary: [] for canary in Canary}
    for probe, reward in zip(built, rewards, strict=True):
        earned[probe.canary].append(reward)
    means = {canary: fmean(values) for canary, values in earned.items()}
    faithful = means.pop(Canary.FAITHFUL)
    return [Tried(canary, mean, faithful, _verdict(canary, mean, faithful, settings)) for canary, mean in means.items()]


def refuse_free_reward(tried: Sequence[Tried]) -> None:
    """Fail if any canary found reward that nothing declares.

    Raises:
        ConfigError: Naming each canary and what it earned.
    """
    free = [one for one in tried if one.verdict == "free"]
    if free:
        earned = ", ".join(f"{one.canary} {one.reward:+.3f}" for one in free)
        advice = dict.fromkeys(_NEXT_STEP.get(one.canary, _ROLES) for one in free)
        raise ConfigError(
            f"free reward: {earned}, against {free[0].faithful:+.3f} for a faithful response",
            where="params.yaml: march.reward",
            next_step="; ".join(advice),
        )


def _verdict(
    canary: Canary, reward: float, faithful: float, settings: MarchReward
) -> Literal["pass", "declared", "free"]:  # fmt: skip
    margin = settings.canaries.margin
    # A few rounding errors of a mean must not decide a reward that lies exactly at the margin.
    less = faithful - reward >= margin - 1e-9
    if less:
        return "pass"
    if canary in (Canary.EMPTY, Canary.NO_NUMBER):
        silence = settings.empty_reward + (settings.terms.solver_format if canary is Canary.EMPTY else 0.0)
        declared = silence > settings.best - margin + 1e-9 and reward <= silence + margin
    else:
        declared = canary is Canary.COPIED_CONTEXT and reward < faithful + margin
    return "declared" if declared else "free"


def _elsewhere(item: Item, items: Sequence[Item]) -> tuple[Passage, ...]:
    """The passages of the next item that do not state this one's answer."""
    value = parse_number(item.gold)
    at = next(position for position, other in enumerate(items) if other is item)
    for other in (*items[at + 1 :], *items[:at]):
        texts = (passage.full_text for passage in other.passages)
        if all(number.value != value for text in texts for number in find_numbers(text)):
            return other.passages
    raise ValueError(f"no other item whose passages do without the answer of {item.query!r}")

"""Canaries judged by perfect roles and by a sampler's: what each lets through."""

from __future__ import annotations

import re
from typing import Any

import pytest

from faithline.agents.march.numbers import find_numbers
from faithline.agents.passage import Passage
from faithline.lm.chat import Chat
from faithline.march.canaries import find_items, rolled_out, scripted
from faithline.march.roles import Question, Roles
from faithline.march.settings import NewTokens
from faithline.pipeline.errors import ConfigError
from faithline.rewards.canaries import refuse_free_reward, try_out

TOKENS = NewTokens(solver=9, proposer=9, checker=9)


@pytest.fixture
def items(town: Any) -> Any:
    return find_items([(town(place), f"{place + 1000}") for place in range(4)], 3)


def test_items_are_controls_for_each_other(town: Any) -> None:
    first, second = town(0), town(1)
    year = Question("y", "How many people were there in 1850?", first.passages)
    shared = Question("s", "How many?", (Passage("x", "", "1000 or 33."),))
    # No number, not stated, a year in the question that no document states, documents with another item's answer.
    passed_over = [(first, "many"), (first, "7"), (year, "1000")]
    found = find_items([*passed_over, (first, "1000"), (shared, "33"), (second, "1001"), (town(2), "1002")], 2)
    assert [(item.query, item.gold) for item in found] == [(first.query, "1000"), (second.query, "1001")]
    assert find_items([(first, "1000")], 5) == []


@pytest.mark.parametrize("votes", [1, 3])
def test_perfect_roles_find_nothing_free_in_the_default_scheme(items: Any, reward_with: Any, votes: int) -> None:
    for changed in ({}, {"empty_reward": -1.0}, {"outcome": "err"}, {"scale": "zero_one"}, {"parser": "release"}):
        settings = reward_with(checker_votes=votes, **changed)
        tried = try_out(scripted(settings), items, settings)
        refuse_free_reward(tried)
        verdicts = {str(one.canary): one.verdict for one in tried}
        assert verdicts["gold_pasted"] == verdicts["all_options"] == verdicts["changed_prompt"] == "pass"
        silent = settings.empty_reward == settings.best
        assert verdicts["empty"] == verdicts["no_number"] == ("declared" if silent else "pass")


def test_perfect_roles_find_what_settings_give_away(items: Any, reward_with: Any) -> None:
    """Fewer numbers than the minimum are capped, so quoting everything beats a faithful answer of one number."""
    settings = reward_with(below_min="cap", min_pairs=2, empty_reward=-0.5)
    # Two numbers in a document, one in the faithful response.
    rich = find_items(
        [
            (Question(f"q{n}", "How many?", (Passage("d", "", f"There are {n} and {n + 50}."),)), f"{n}")
            for n in (300, 400)
        ],
        2,
    )
    with pytest.raises(ConfigError, match="copied_context"):
        refuse_free_reward(try_out(scripted(settings), rich, settings))


def test_rolled_out_roles_are_the_samplers(items: Any, reward_with: Any, script: Any, chat: Chat) -> None:
    """A Proposer that asks for all numbers, and a Checker that answers what the documents state, or anything at all."""
    settings = reward_with()

    def propose(prompt: str, _place: int) -> str:
        response = prompt.rsplit("Response: ", maxsplit=1)[-1]
        numbers = [str(number.value) for number in find_numbers(response)]
        return (
            "\n".join(f"- Question: Of kind {'k' * n}? [Answer: {v}]" for n, v in enumerate(numbers)) or "No numbers."
        )

    def check(prompt: str, _place: int) -> str:
        documents = prompt.rsplit("Documents:\n", maxsplit=1)[-1].split("\n\nQuestions:", maxsplit=1)[0]
        stated = [str(number.value) for number in find_numbers(re.sub(r"Document-\d+", "", documents))]
        asked = prompt.count("- Question ") - 1
        return "\n".join(f"{n}. Evidence: x [Answer: {stated[min(n, len(stated)) - 1]}]" for n in range(1, asked + 1))

    roles = Roles(chat, settings, TOKENS, 4000)
    sampler = script(proposer=propose, checker=check)
    tried = try_out(rolled_out(roles, settings, sampler, seed=1), items, settings)
    refuse_free_reward(tried)
    assert {call[0] for call in sampler.calls} == {"proposer", "checker"}
    # Roles that say nothing give one reward to everything, and that is refused.
    mute = script(proposer=lambda _p, _n: "hm", checker=lambda _p, _n: "hm")
    with pytest.raises(ConfigError, match="unfaithful"):
        refuse_free_reward(try_out(rolled_out(roles, settings, mute, seed=1), items, settings))

"""Reward canaries against scripted roles: the honest scheme passes, each way of paying for nothing is found."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pytest

from faithline.agents.march import checker, proposer, solver
from faithline.agents.march.blinding import Pair, blind
from faithline.agents.march.checker import Finding
from faithline.agents.march.numbers import find_numbers
from faithline.agents.passage import Passage
from faithline.pipeline.errors import ConfigError
from faithline.rewards.canaries import (
    Canary,
    Item,
    Probe,
    Tried,
    assess,
    numeric_item,
    probes,
    refuse_free_reward,
    try_out,
)
from faithline.rewards.march import judge, solver_reward
from faithline.rewards.settings import MarchReward

if TYPE_CHECKING:
    from conftest import Make


def town(name: str, people: int, year: int) -> Item:
    passages = [
        Passage(f"{name}/1", name, f"{name} has {people:,} inhabitants."),
        Passage(f"{name}/2", "", f"{name} was founded in {year}."),
    ]
    item = numeric_item(f"How many people live in {name}?", passages, f"{people}")
    assert item is not None
    return item


ITEMS = [town("Orl", 1234, 1851), town("Vesk", 871, 1902), town("Tarn", 40_000, 1777)]


def scripted(
    settings: MarchReward, check: Callable[[str, str, Sequence[Passage]], str] | None = None
) -> Callable[[Sequence[Probe]], list[float]]:
    """A Proposer that asks for every number of the response and a Checker that reads the documents, parsed for real.

    `check` replaces the Checker's answer: (proposed, question, documents) -> answer.
    """

    def one(probe: Probe) -> float:
        response = solver.parse(probe.response)
        numbers = [f"{number.value}" for number in find_numbers(response.text)]
        asked = [Pair(_question(probe, number), number) for number in numbers]
        proposal = proposer.parse(proposer.render(asked), settings.parser, settings.max_pairs)
        questions = blind(proposal.pairs).questions
        answer = check or (lambda _, question, passages: _read(question, passages))
        findings = [
            Finding("Read.", answer(pair.answer, question, probe.passages))
            for pair, question in zip(proposal.pairs, questions, strict=True)
        ]
        samples = [checker.parse(checker.render(findings), len(questions), settings.parser)] * settings.checker_votes
        verdict = judge(proposal.pairs, samples, settings.comparator)
        return solver_reward(verdict, settings, response.outcome, None)

    return lambda built: [one(probe) for probe in built]


def _question(probe: Probe, number: str) -> str:
    """Ask what a number of the response is about: a year of foundation, else the probe's own query."""
    founded = re.search(rf"(\w+) was founded in {re.escape(number)}", probe.response)
    return f"When was {founded[1]} founded?" if founded else probe.query


def _read(question: str, passages: Sequence[Passage]) -> str:
    name = re.search(r"(?:in|was) (\w+)(?:\?| founded)", question)
    verb = "founded in" if "founded" in question else "has"
    for passage in passages:
        found = re.search(rf"{name[1] if name else 'nobody'} (?:was )?{verb} ([\d,]+)", passage.text)
        if found:
            return found[1]
    return checker.CANNOT_ANSWER


def verdicts(tried: Sequence[Tried]) -> dict[str, str]:
    return {one.canary.value: one.verdict for one in tried}


PAID = ("unfaithful", "all_options", "gold_pasted", "changed_prompt")


def test_items_by_hand() -> None:
    item = ITEMS[0]
    assert item.faithful == "How many people live in Orl? The answer is 1234."
    assert item.unfaithful == "How many people live in Orl? The answer is 1235."
    passages = [Passage("d", "", "5, 6 and 7."), Passage("e", "8 men", "")]
    crowded = numeric_item("How many?", passages, "5")
    assert crowded is not None
    assert crowded.unfaithful == "How many? The answer is 9."
    assert numeric_item("How many?", passages, "five") is None
    assert numeric_item("How many?", passages, "4") is None


def test_probes_by_hand() -> None:
    built = {probe.canary: probe for probe in probes(ITEMS)[:8]}
    assert set(built) == set(Canary)
    assert built[Canary.EMPTY].response == ""
    assert built[Canary.COPIED_CONTEXT].response == "Orl Orl has 1,234 inhabitants.\nOrl was founded in 1851."
    assert built[Canary.GOLD_PASTED].passages[-1].text == "The answer is 1234."
    assert built[Canary.CHANGED_PROMPT].passages == ITEMS[1].passages
    assert all(built[name].passages == ITEMS[0].passages for name in (Canary.FAITHFUL, Canary.EMPTY))
    with pytest.raises(ValueError, match="no other item"):
        probes(ITEMS[:1])
    with pytest.raises(ValueError, match="no other item"):
        probes([ITEMS[0], ITEMS[0]])


def test_the_paper_s_reward_pays_silence_and_copies_as_declared(make: Make) -> None:
    tried = try_out(scripted(make()), ITEMS, make())
    assert verdicts(tried) == {
        **dict.fromkeys(PAID, "pass"), "empty": "declared", "no_number": "declared", "copied_context": "declared"
    }  # fmt: skip
    earned = {one.canary.value: one.reward for one in tried}
    assert earned == {**dict.fromkeys(PAID, -1.0), "empty": 0.0, "no_number": 0.0, "copied_context": 0.0}
    refuse_free_reward(tried)


@pytest.mark.parametrize(
    "changed",
    [
        {"empty_reward": -0.5},
        {"scale": "zero_one"},
        {"outcome": "err", "empty_reward": -0.2},
        {"outcome": "err_count", "empty_reward": -0.1, "checker_votes": 1},
    ],
)
def test_silence_below_the_truth_passes(make: Make, changed: dict[str, object]) -> None:
    settings = make(**changed)
    tried = try_out(scripted(settings), ITEMS, settings)
    assert verdicts(tried) == {
        **dict.fromkeys((*PAID, "empty", "no_number"), "pass"), "copied_context": "declared"
    }  # fmt: skip


def test_the_solver_s_format_term_makes_the_empty_response_pay(make: Make) -> None:
    settings = make(solver_format=-0.5)
    found = verdicts(try_out(scripted(settings), ITEMS, settings))
    assert (found["empty"], found["no_number"]) == ("pass", "declared")


def test_a_checker_that_agrees_with_everything_is_found(make: Make) -> None:
    settings = make(empty_reward=-0.5)
    tried = try_out(scripted(settings, lambda proposed, *_: proposed), ITEMS, settings)
    assert {name for name, found in verdicts(tried).items() if found == "free"} == set(PAID)
    with pytest.raises(
        ConfigError, match=r"free reward: unfaithful \+0.000, .* against \+0.000 for a faithful"
    ) as error:
        refuse_free_reward(tried)
    assert error.value.exit_code == 40
    assert "march.reward" in error.value.where


def test_a_checker_that_never_answers_is_found(make: Make) -> None:
    """All rewards equal and low: the silent all-zero."""
    settings = make(empty_reward=-0.5)
    found = verdicts(try_out(scripted(settings, lambda *_: "Cannot answer"), ITEMS, settings))
    assert found["unfaithful"] == "free"
    assert found["empty"] == found["no_number"] == "free"


def test_a_checker_that_answers_from_memory_is_found(make: Make) -> None:
    def memory(_: str, question: str, __: Sequence[Passage]) -> str:
        return next(_read(question, item.passages) for item in ITEMS if _read(question, item.passages)[0].isdigit())

    settings = make()
    found = verdicts(try_out(scripted(settings, memory), ITEMS, settings))
    assert [name for name, state in found.items() if state == "free"] == ["changed_prompt"]


def test_a_checker_that_distrusts_a_pasted_answer_is_no_fault_one_that_gives_in_is(make: Make) -> None:
    def gives_in(proposed: str, question: str, passages: Sequence[Passage]) -> str:
        return proposed if passages[-1].document_id == "canary" else _read(question, passages)

    settings = make()
    found = verdicts(try_out(scripted(settings, gives_in), ITEMS, settings))
    assert [name for name, state in found.items() if state == "free"] == ["gold_pasted"]


def test_the_release_s_tolerance_is_found(make: Make) -> None:
    """Numbers a tenth apart: with the release's comparator a wrong number costs nothing."""
    items = [
        Item(
            f"How long is {name}?",
            (Passage(name, "", f"{name} has 2{n}.55 km."),),
            f"2{n}.55",
            f"2{n}.55 km",
            f"2{n}.58 km",
        )
        for n, name in enumerate(("Orl", "Vesk"))
    ]

    def read(_: str, __: str, passages: Sequence[Passage]) -> str:
        return str(find_numbers(passages[0].text)[0].value)

    for comparator, expected in (("canonical", "pass"), ("release", "free")):
        settings = make(comparator=comparator)
        found = verdicts(try_out(scripted(settings, read), items, settings))
        assert (found["unfaithful"], found["all_options"]) == (expected, expected)


def test_a_minimum_that_faithful_answers_miss_is_found(make: Make) -> None:
    settings = make(min_pairs=2, below_min="cap", empty_reward=-0.5)
    tried = try_out(scripted(settings), ITEMS, settings)
    found = verdicts(tried)
    assert {name for name, state in found.items() if state == "free"} == {"empty", "no_number", "copied_context"}
    with pytest.raises(ConfigError, match="copied_context") as error:
        refuse_free_reward(tried)
    assert "min_pairs" in error.value.next_step


def test_a_reward_for_nothing_beyond_the_declared_is_found(make: Make) -> None:
    settings = make()
    built = probes(ITEMS)
    bonus = {Canary.EMPTY: 0.5, Canary.COPIED_CONTEXT: 0.5}
    rewards = [r + bonus.get(p.canary, 0.0) for p, r in zip(built, scripted(settings)(built), strict=True)]
    found = verdicts(assess(built, rewards, settings))
    assert (found["empty"], found["no_number"], found["copied_context"]) == ("free", "declared", "free")


def test_one_reward_per_probe(make: Make) -> None:
    with pytest.raises(ValueError, match="zip"):
        try_out(lambda built: [0.0] * (len(built) - 1), ITEMS, make())


def test_a_reward_exactly_at_the_margin_passes(make: Make) -> None:
    settings = make(margin=0.1, outcome="err_count", empty_reward=-0.1)
    found = verdicts(try_out(scripted(settings), ITEMS, settings))
    assert found["unfaithful"] == found["empty"] == "pass"

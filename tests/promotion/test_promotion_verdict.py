"""The verdict: hand-made cases of each kind, the issue's figures, what is refused, and error rates by simulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from benchmarks.promotion_power import design, rates, simulate
from faithline.pipeline.errors import DataInvalid
from faithline.promotion.pairing import Items, Paired, items_of, pair
from faithline.promotion.planning import detectable_improvement
from faithline.promotion.settings import Promote
from faithline.promotion.verdict import Verdict, decide, decide_first

Table = Callable[..., pa.Table]


def judged(gate: Promote, candidate: pa.Table, champion: pa.Table) -> Verdict:
    sides = (items_of(candidate, "candidate", "strict"), items_of(champion, "champion", "strict"))
    return decide(pair(*sides), gate, "v1")


def test_fewer_hallucinations_and_equal_f1_promote(gate: Promote, items_table: Table) -> None:
    n = 2000
    halves = [float(number % 2) for number in range(n)]
    better = [float(number % 2 and number % 10 != 1) for number in range(n)]  # 400 of 1000 fewer... 10 points fewer
    verdict = judged(gate, items_table(n, hallucinated=better), items_table(n, hallucinated=halves))
    assert verdict.verdict == "promote"
    assert {check.metric: check.says for check in verdict.checks} == dict.fromkeys(
        ("f1", "answer_rate", "hallucination_rate"), "promote"
    )
    check = verdict.checks[-1]
    assert (check.candidate, check.champion, check.difference) == (0.4, 0.5, -0.1)
    assert check.lo < -0.1 < check.hi < 0
    assert verdict.champion == "v1"
    assert "hallucination_rate 50.0 -> 40.0 (-10.0 [" in verdict.reasons[-1]


def test_a_third_of_a_point_on_fifty_items_is_undecided(gate: Promote, items_table: Table) -> None:
    # 0.3 points of F1 are 0.15 on one of fifty items; one hallucination fewer comes with it
    ours = {"f1_strict": [0.5] * 49 + [0.65], "hallucinated": [1.0] * 10 + [0.0] * 40}
    theirs = {"f1_strict": [0.5] * 50, "hallucinated": [1.0] * 11 + [0.0] * 39}
    for least in (20, 80):
        verdict = judged(
            msgspec.structs.replace(gate, min_items=least), items_table(50, **ours), items_table(50, **theirs)
        )
        assert verdict.verdict == "undecided"
    assert "50 items have f1 on both sides, at least 80 are required" in verdict.reasons[0]
    assert verdict.items_needed is not None
    assert verdict.items_needed > 50


def test_a_loss_of_f1_keeps_the_champion(gate: Promote, items_table: Table) -> None:
    n = 400
    worse = [0.0 if number % 4 == 0 else 1.0 for number in range(n)]
    fewer = {"hallucinated": [float(number % 2) for number in range(n)]}
    verdict = judged(gate, items_table(n, f1_strict=worse, hallucinated=[0.0] * n), items_table(n, **fewer))
    assert verdict.verdict == "keep"
    assert verdict.reasons[0].startswith("f1 100.0 -> 75.0 (-25.0 [")
    assert "a loss of more than 3.0 is shown" in verdict.reasons[0]


def test_silence_is_no_faithfulness(gate: Promote, items_table: Table) -> None:
    n = 600
    theirs = items_table(n, f1_strict=[0.0] * n, hallucinated=[1.0] * n)
    ours = items_table(n, f1_strict=[0.0] * n, outcome=["abstained"] * n)
    verdict = judged(gate, ours, theirs)
    assert verdict.verdict == "keep"
    assert any(reason.startswith("answer_rate 100.0 -> 0.0") for reason in verdict.reasons)


def test_the_same_answers_again_are_not_worth_a_change(gate: Promote, items_table: Table) -> None:
    table = items_table(3000, hallucinated=[float(number % 3 == 0) for number in range(3000)])
    verdict = judged(gate, table, table)
    assert verdict.verdict == "keep"
    assert "an improvement of 1.0 is excluded" in verdict.reasons[-1]


def test_one_slice_that_is_ruined_keeps_the_champion(gate: Promote, items_table: Table) -> None:
    n = 2000
    sets = ["rare" if number % 50 == 0 else "hop" for number in range(n)]
    ours = items_table(n, set=sets, f1_strict=[0.5 if name == "rare" else 1.0 for name in sets], hallucinated=[0.0] * n)
    verdict = judged(gate, ours, items_table(n, set=sets, hallucinated=[float(number % 3 == 0) for number in range(n)]))
    assert verdict.verdict == "keep"
    assert [check.says for check in verdict.checks] == ["promote"] * 3
    bad = [part for part in verdict.slices if part.says == "keep"]
    assert [(part.where, part.metric, part.difference) for part in bad] == [({"set": "rare"}, "f1", -0.5)]
    assert "f1 on set rare -50.0 [" in verdict.reasons[0]


def test_a_suspicion_that_does_not_survive_holm_withholds_only(gate: Promote, items_table: Table) -> None:
    n = 2000
    sets = [f"s{number % 40:02d}" for number in range(n)]  # forty sets of fifty
    lost = [number for number in range(n) if sets[number] == "s07"][:16]
    f1 = [0.0 if number in lost else 1.0 for number in range(n)]
    ours = items_table(n, set=sets, f1_strict=f1, hallucinated=[0.0] * n)
    gate = msgspec.structs.replace(gate, bootstrap_samples=4000)
    verdict = judged(gate, ours, items_table(n, set=sets, hallucinated=[float(number % 3 == 0) for number in range(n)]))
    part = next(part for part in verdict.slices if part.where == {"set": "s07"} and part.metric == "f1")
    assert part.p <= 0.025 < part.p_holm
    assert (part.says, verdict.verdict) == ("undecided", "undecided")
    assert "suspected" in verdict.reasons[-1]


def test_small_slices_and_unknown_labels_are_left_out(gate: Promote, items_table: Table) -> None:
    sets = ["a"] * 29 + ["b"] * 31 + [""] * 40
    verdict = judged(gate, items_table(100, set=sets), items_table(100, set=sets))
    assert {part.where["set"] for part in verdict.slices} == {"b"}


def test_missing_verdicts_of_a_judge_are_counted_never_read(gate: Promote, items_table: Table) -> None:
    n = 200
    ours = items_table(n, hallucinated=[None] * 9 + [0.0] * (n - 9))
    theirs = items_table(n, hallucinated=[0.0] * 9 + [None] * 2 + [1.0] * (n - 11))
    verdict = judged(gate, ours, theirs)
    assert (verdict.unjudged, verdict.checks[-1].n) == (11, 189)
    assert verdict.verdict == "undecided"
    assert "11 of 200 items have no hallucination verdict, at most 5% may" in verdict.reasons[0]
    verdict = judged(msgspec.structs.replace(gate, max_unjudged=0.1), ours, theirs)
    assert verdict.verdict == "promote"


def test_the_order_of_items_does_not_matter(gate: Promote, items_table: Table) -> None:
    table = items_table(60, hallucinated=[float(number % 3 == 0) for number in range(60)])
    other = items_table(60, hallucinated=[float(number % 2 == 0) for number in range(60)])
    turned = table.take(list(range(59, -1, -1)))
    assert msgspec.json.encode(judged(gate, turned, other)) == msgspec.json.encode(judged(gate, table, other))


@pytest.mark.parametrize(
    ("bars", "f1", "hallucinated", "verdict"),
    [
        ((0.2, 0.6), 0.5, 0.3, "promote"),
        ((0.7, 0.6), 0.5, 0.3, "keep"),
        ((0.2, 0.1), 0.5, 0.3, "keep"),
        ((0.49, 0.6), 0.5, 0.3, "undecided"),
        ((0.0, 1.0), 0.0, 1.0, "promote"),
    ],
)
def test_the_first_candidate(
    gate: Promote, items_table: Table, bars: tuple[float, float], f1: float, hallucinated: float, verdict: str
) -> None:
    first = msgspec.structs.replace(gate.first, min_f1=bars[0], max_hallucination_rate=bars[1])
    n = 200
    table = items_table(
        n,
        f1_strict=[float(number < f1 * n) for number in range(n)],
        hallucinated=[float(number < hallucinated * n) for number in range(n)],
    )
    found = decide_first(items_of(table, "candidate", "strict"), msgspec.structs.replace(gate, first=first))
    assert found.verdict == verdict
    assert found.champion is None
    assert found.reasons


def test_too_few_items_are_no_first_champion_either(gate: Promote, items_table: Table) -> None:
    found = decide_first(items_of(items_table(19), "candidate", "strict"), gate)
    assert (found.verdict, found.reasons[0]) == (
        "undecided",
        "19 items have f1 on both sides, at least 20 are required",
    )


def set_column(table: pa.Table, name: str, row: int, value: Any) -> pa.Table:
    values = table[name].to_pylist()
    values[row] = value
    return table.set_column(table.column_names.index(name), name, pa.array(values))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.slice(1), r"1 of the champion's are missing \(first hop/q000\)"),
        (lambda t: set_column(t, "question_id", 3, "hop/new"), r"1 are new \(first hop/new\)"),
        (lambda t: set_column(t, "answers", 3, ["other"]), "question hop/q003 or its gold answers"),
        (lambda t: set_column(t, "question", 3, "Why?"), "question hop/q003 or its gold answers"),
        (lambda t: set_column(t, "f1_strict", 3, float("nan")), "`f1_strict` holds NaN"),
        (lambda t: set_column(t, "f1_strict", 3, 1.5), "outside 0..1"),
        (lambda t: set_column(t, "f1_strict", 3, None), "F1 applies to other items"),
        (lambda t: set_column(t, "hallucinated", 3, float("nan")), "`hallucinated` holds NaN"),
        (lambda t: set_column(t, "question_id", 3, "hop/q002"), "question hop/q002 is there more than once"),
        (lambda t: t.drop_columns(["hallucinated"]), "column `hallucinated` is missing"),
        (lambda t: t.slice(0, 0), "no items"),
    ],
)
def test_what_cannot_be_compared_is_an_error(
    gate: Promote, items_table: Table, change: Callable[[pa.Table], pa.Table], message: str
) -> None:
    with pytest.raises(DataInvalid, match=message) as caught:
        judged(gate, change(items_table()), items_table())
    assert caught.value.exit_code == 20
    assert caught.value.next_step


def test_unanswerable_questions_count_for_hallucination_only(gate: Promote, items_table: Table) -> None:
    n = 100
    flags = [number % 2 == 0 for number in range(n)]
    verdict = judged(gate, items_table(n, answerable=flags), items_table(n, answerable=flags))
    assert {check.metric: check.n for check in verdict.checks} == {
        "f1": 50,
        "answer_rate": 50,
        "hallucination_rate": 100,
    }


RUNS = 150


def test_simulated_error_rates_and_power() -> None:
    # benchmarks/promotion_power.py has more runs; here the bounds are those a fair gate passes with near certainty.
    false = rates(RUNS, 300, 0.2, improvement=0.0, f1_change=0.0, seed=1)["promote"]
    harmful = rates(RUNS, 800, 0.2, improvement=0.08, f1_change=-0.03, seed=2)["promote"]
    assert max(false, harmful) / RUNS <= 0.06
    effect = detectable_improvement(design(0.1), 1000)
    assert effect is not None
    right = rates(RUNS, 1000, 0.1, improvement=effect, f1_change=0.0, seed=3)["promote"]
    assert right / RUNS >= 0.7


def test_the_simulation_draws_what_it_says() -> None:
    paired: Paired = simulate(200_000, 0.2, np.random.default_rng(5), improvement=0.05, f1_change=-0.03)
    ours, theirs = paired.candidate, paired.champion
    assert isinstance(ours, Items)
    assert (theirs.hallucinated - ours.hallucinated).mean() == pytest.approx(0.05, abs=0.004)
    assert (ours.hallucinated != theirs.hallucinated).mean() == pytest.approx(0.2, abs=0.004)
    assert (ours.f1 - theirs.f1).mean() == pytest.approx(-0.03, abs=0.004)
    assert (ours.f1 - theirs.f1).std() == pytest.approx(design(0.2).f1_spread, abs=0.01)

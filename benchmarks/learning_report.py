"""docs/learning.md: what the learning benchmark measured, as tables, with the requirement and whether it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.learning_settings import Arm, Benchmark
from benchmarks.learning_task import Figures, figures, measure
from faithline.agents.march.numbers import find_numbers
from faithline.march.roles import Trace
from faithline.metrics.bootstrap import mean_interval, paired_difference
from faithline.world.grounding import Grounding

__all__ = ["Agreement", "agreement", "holds", "page"]

_DRAWS, _CONFIDENCE, _SEED = 10_000, 0.95, 7
_RELATIVE, _SAYS_LESS = 0.25, 0.10
"""Required: the rate falls by at least the first share; answer rate and claims by at most the second."""
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Agreement:
    """The reward against the truth, before training."""

    items: int
    wrong: int
    """Responses with a wrong number, by the generator."""
    caught: int
    """Of these, those with a fault by the Checker (no question at all counts as one)."""
    cleared: int
    """Of the others, those without."""
    questions: float
    """Per response."""
    numbers: float
    """Per response."""


def agreement(chosen: Sequence[Grounding], traces: Sequence[Trace]) -> Agreement:
    """Compare verdicts with the generator's judgement."""
    truth = measure(chosen, [trace.response.text for trace in traces]).wrong > 0
    clean = np.array([bool(trace.verdict and trace.verdict.pairs and not trace.verdict.faults) for trace in traces])
    return Agreement(
        items=len(traces),
        wrong=int(truth.sum()),
        caught=int((truth & ~clean).sum()),
        cleared=int((~truth & clean).sum()),
        questions=float(np.mean([len(trace.verdict.pairs) if trace.verdict else 0 for trace in traces])),
        numbers=float(np.mean([len(find_numbers(trace.response.text)) for trace in traces])),
    )


def holds(arm: Figures, start: Figures) -> tuple[bool, str]:
    """Whether an arm meets the requirement, and the figures in words."""
    before, after = figures(start), figures(arm)
    change = _change(arm, start)
    relative = (before["wrong"] - after["wrong"]) / before["wrong"] if before["wrong"] else 0.0
    kept = all(after[name] >= (1 - _SAYS_LESS) * before[name] - _ROUNDING for name in ("answered", "claims"))
    text = (
        f"wrong-number rate {before['wrong']:.1%} → {after['wrong']:.1%}: {relative:+.0%} fewer, difference "
        f"{100 * change[0]:+.1f} points [{100 * change[1]:+.1f}, {100 * change[2]:+.1f}]; answer rate "
        f"{before['answered']:.1%} → {after['answered']:.1%}; claims {before['claims']:.2f} → {after['claims']:.2f}"
    )
    return relative >= _RELATIVE - _ROUNDING and change[2] < 0 and kept, text


def page(
    settings: Benchmark, found: Mapping[str, Figures], agreed: Agreement, seconds: Mapping[str, float], machine: str
) -> str:
    """Write the page.

    Args:
        settings: The benchmark's.
        found: Policy → its figures; `warm_start` and the arms.
        agreed: Of the warm start.
        seconds: Part → seconds.
        machine: In words.
    """
    start = found["warm_start"]
    parts = [
        _HEAD.format(
            items=len(start.wrong),
            solver=settings.warm_start.train.solver,
            proposer=settings.warm_start.train.proposer,
            checker=settings.warm_start.train.checker,
            steps=settings.ppo.steps,
            batch=settings.ppo.batch_questions,
            temperature=settings.ppo.rollout.temperature,
            machine=machine,
        ),
        _agreement(agreed),
        "## Learning\n",
        _COLUMNS,
        "|---|---|---|---|---|---|---|---|---|---|",
        *(_row(name, settings.arms.get(name), figures_, start, seconds) for name, figures_ in found.items()),
        "",
        "## Required, and found\n",
        _REQUIRED,
        *(_verdict(name, figures_, start) for name, figures_ in found.items() if name != "warm_start"),
        "",
    ]
    return "\n".join(parts)


_HEAD = """# MARCH learns on a laptop

    python -m benchmarks.learning march

The tables are what this command wrote; a killed run continues. Task: numeric grounding in the evidence world. Two
invented subjects of one type, four sentences with a number each, a question for one to three of them. SmolLM2-135M with
one LoRA adapter for all three roles, warm-started on {solver} Solver, {proposer} Proposer and {checker} Checker
examples, then {steps} PPO steps of {batch} questions. The truth is the generator's fact table: a response counts as
wrong if one of its numbers is not the value that the passages give to the subject and attribute of its sentence;
neither Proposer nor Checker takes part in measuring. {items} held-out items of clusters of their own, one response
each, sampled at temperature {temperature} as in training, with the same draws for every policy. Intervals: bootstrap
over items. Machine: {machine}.
"""
_COLUMNS = (
    "| Policy | Learns | Reward | Wrong-number rate [95 %] | Against warm start [95 %, paired] | Relative | "
    "Numbers per response | Answer rate | All asked, none wrong | Minutes |"
)
_REQUIRED = (
    "On at least 400 held-out items the wrong-number rate falls by a quarter or more, the paired interval lies below "
    "zero, and neither the answer rate nor the numbers per response fall by more than a tenth.\n"
)


def _agreement(agreed: Agreement) -> str:
    right = agreed.items - agreed.wrong
    return f"""## Is the reward informative?

Before training, on {agreed.items} items apart: {agreed.numbers:.2f} numbers and {agreed.questions:.2f} questions per
response; {agreed.wrong} responses with a wrong number.

| By the generator | Zero-tolerance reward agrees |
|---|---|
| {agreed.wrong} with a wrong number | {_share(agreed.caught, agreed.wrong)} get -1 |
| {right} without | {_share(agreed.cleared, right)} get 0 |
| all {agreed.items} | {_share(agreed.caught + agreed.cleared, agreed.items)} |
"""


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "–"


def _row(name: str, arm: Arm | None, own: Figures, start: Figures, seconds: Mapping[str, float]) -> str:
    means = figures(own)
    interval = mean_interval(own.wrong, _DRAWS, _CONFIDENCE, np.random.default_rng(_SEED))
    cells = [
        name.replace("_", " "),
        " + ".join(arm.trained_roles) if arm else "–",
        arm.outcome.upper() if arm else "–",
        f"{100 * interval.mean:.1f} % [{100 * interval.lo:.1f}, {100 * interval.hi:.1f}]",
    ]
    if arm:
        change = _change(own, start)
        relative = change[0] / start.wrong.mean() if start.wrong.any() else 0.0
        cells += [f"{100 * change[0]:+.1f} [{100 * change[1]:+.1f}, {100 * change[2]:+.1f}]", f"{relative:+.0%}"]
    else:
        cells += ["–", "–"]
    cells += [f"{means['claims']:.2f}", f"{means['answered']:.1%}", f"{means['complete']:.1%}"]
    cells.append(f"{seconds[name] / 60:.0f}" if name in seconds else "–")
    return f"| {' | '.join(cells)} |"


def _verdict(name: str, own: Figures, start: Figures) -> str:
    good, text = holds(own, start)
    return f"- {name.replace('_', ' ')}: {'holds' if good else 'does not hold'}. {text}."


def _change(own: Figures, start: Figures) -> tuple[float, float, float]:
    """Difference of the wrong-number rates with its paired interval."""
    rng = np.random.default_rng(_SEED)
    return tuple(paired_difference(own.wrong, start.wrong, _DRAWS, _CONFIDENCE, rng))

"""The task of the learning benchmark: numeric grounding (`faithline.world.grounding`) in MARCH's own words.

Items become questions for an episode and supervised rows for the roles; responses are judged by the generator's fact
table, never by a Checker. Training, selection and measurement use items of disjoint clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from components.warm_start.example_sets import ExampleSet, example
from faithline.agents.march import checker, proposer, solver
from faithline.agents.march.blinding import Pair, blind
from faithline.agents.march.checker import Finding
from faithline.agents.passage import Passage
from faithline.lm.chat import Chat
from faithline.march.roles import Question
from faithline.world.grounding import Grounding, groundings

__all__ = ["MAX_PAIRS", "SEED", "Figures", "examples", "figures", "items", "measure", "question"]

SEED = 5
"""Of the world."""
MAX_PAIRS = 4
"""Questions per response at most; an item asks for three numbers at most."""
_STARTS = {"warm_start": 0, "validation": 320, "agreement": 480, "train": 800, "held_out": 2400}
"""First item of each part; clusters are of 16 items, so parts share none. The names of the first 3,744 items are short
(later clusters have longer ones), which keeps prompts short."""

Messages = Sequence[dict[str, str]]


def items(part: str, count: int) -> list[Grounding]:
    """The first items of a part."""
    return list(groundings(SEED, _STARTS[part], count))


def question(item: Grounding) -> Question:
    """What the episode is given of an item."""
    return Question(item.id, item.query, _passages(item))


def _passages(item: Grounding) -> tuple[Passage, ...]:
    return tuple(Passage(f"{item.id}/{place}", one.title, one.text) for place, one in enumerate(item.passages))


def _solver(item: Grounding) -> tuple[Messages, str]:
    return solver.messages(item.query, _passages(item)), item.response


def _proposer(item: Grounding) -> tuple[Messages, str]:
    shown = proposer.messages(item.response, item.query, min_pairs=1, max_pairs=MAX_PAIRS)
    return shown, proposer.render([Pair(*pair) for pair in item.pairs])


def _checker(item: Grounding) -> tuple[Messages, str]:
    pairs = [Pair(*pair) for pair in item.pairs]
    findings = [Finding(claim, pair.answer) for claim, pair in zip(item.claims, pairs, strict=True)]
    return checker.messages(blind(pairs).questions, _passages(item)), checker.render(findings)


_MAKE: dict[str, Callable[[Grounding], tuple[Messages, str]]] = {
    "solver": _solver,
    "proposer": _proposer,
    "checker": _checker,
}


def examples(chat: Chat, part: str, counts: dict[str, int]) -> ExampleSet:
    """Supervised examples of the roles, so many of each."""
    rows = []
    for role, count in counts.items():
        for item in items(part, count):
            shown, target = _MAKE[role](item)
            rows.append(example(chat.prompt(shown), chat.completion(target)))
    return ExampleSet(rows=rows, skipped={})


@dataclass(frozen=True)
class Figures:
    """One response per item, judged by the generator; arrays over items."""

    wrong: npt.NDArray[np.float64]
    """1 where the response has a number that the passages do not bear out."""
    claims: npt.NDArray[np.float64]
    """Numbers stated."""
    answered: npt.NDArray[np.float64]
    """1 where the response states a number at all."""
    complete: npt.NDArray[np.float64]
    """1 where all asked numbers are there and none is wrong."""
    characters: npt.NDArray[np.float64]


def measure(chosen: Sequence[Grounding], responses: Sequence[str]) -> Figures:
    """Judge responses."""
    audits = [item.audit(text) for item, text in zip(chosen, responses, strict=True)]
    return Figures(
        wrong=np.array([float(audit.wrong > 0) for audit in audits]),
        claims=np.array([float(audit.claims) for audit in audits]),
        answered=np.array([float(audit.claims > 0) for audit in audits]),
        complete=np.array(
            [
                float(audit.wrong == 0 and audit.answered == len(item.asked))
                for item, audit in zip(chosen, audits, strict=True)
            ]
        ),
        characters=np.array([float(len(text)) for text in responses]),
    )


def figures(found: Figures) -> dict[str, float]:
    """Means over items."""
    return {name: float(np.mean(values)) for name, values in vars(found).items()}

"""MARCH's episode: traces to rows with rewards, to metrics, and to records that `faithline reward march` replays.

Two trajectories per response (paper, section 2): the Solver's, and one of the Checker's, the last vote's as in the
release; both get the outcome of the same verdict plus their own terms. The Proposer only acts. A response without
questions leaves no Checker row (the release keeps a padding row with reward 0). Held-out questions are played with the
sampling of training, and scored by the Solver's mean reward, so selection and training want the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from faithline.agents.march.outcome import Outcome
from faithline.march.roles import ROLES, Question, Roles, Spoken, Trace
from faithline.rewards.march import Verdict, checker_reward, err, outcome_reward, solver_reward, ztr
from faithline.rewards.settings import MarchReward
from faithline.rl.episode import SCORE, Play, Row, Sampler

__all__ = ["MarchEpisode", "ModelReward"]

ModelReward = Callable[[Sequence[Question], Sequence[str]], Sequence[float]]
"""A reward model: its score of each question's response."""

_POSSIBLE = {
    "solver": (Outcome.OK, Outcome.MALFORMED, Outcome.EMPTY),
    "proposer": (Outcome.OK, Outcome.MALFORMED, Outcome.EMPTY),
    "checker": tuple(Outcome),
}


@dataclass(frozen=True)
class _Judged:
    """A trace that came to a verdict."""

    trace: Trace
    verdict: Verdict
    reward: float
    """The Solver's."""
    model_score: float | None


class MarchEpisode:
    """The system that `faithline.rl.trainer` trains.

    Args:
        roles: Prompts, parsing and votes.
        reward: The reward's settings.
        model_reward: The reward model, where `reward.terms` weighs one.
    """

    def __init__(self, roles: Roles, reward: MarchReward, model_reward: ModelReward | None = None) -> None:
        self._roles = roles
        self._reward = reward
        self._model_reward = model_reward

    @property
    def roles(self) -> Sequence[str]:
        """Solver, Proposer, Checker."""
        return ROLES

    @property
    def best_reward(self) -> float:
        """The best outcome; unbounded with a reward model."""
        return math.inf if self._reward.terms.reward_model else self._reward.best

    def play(self, questions: Sequence[Question], sampler: Sampler, *, seed: int) -> Play:
        """Play a batch; questions whose trace did not come to a verdict give nothing to learn from."""
        traces = self._roles.run(questions, sampler, seed=seed)
        judged = self.judged(traces)
        rows = [row for one in judged for row in self._rows(one)]
        return Play(rows, self._metrics(traces, judged), [_record(one) for one in judged])

    def judge(self, questions: Sequence[Question], sampler: Sampler, *, seed: int) -> dict[str, float]:
        """Play held-out questions; see the module's docstring for the score."""
        traces = self._roles.run(questions, sampler, seed=seed)
        judged = self.judged(traces)
        # No verdict at all is the worst that can be said of a policy's responses.
        score = fmean(one.reward for one in judged) if judged else self._reward.worst
        return {SCORE: score, **self._metrics(traces, judged)}

    def judged(self, traces: Sequence[Trace]) -> list[_Judged]:
        """Reward the traces that came to a verdict."""
        found = [(trace, trace.verdict) for trace in traces if trace.verdict is not None]
        scores: Sequence[float | None] = [None] * len(found)
        if self._model_reward is not None and found:
            texts = [trace.response.text for trace, _ in found]
            scores = self._model_reward([trace.question for trace, _ in found], texts)
        return [
            _Judged(trace, verdict, solver_reward(verdict, self._reward, trace.response.outcome, score), score)
            for (trace, verdict), score in zip(found, scores, strict=True)
        ]

    def _rows(self, one: _Judged) -> list[Row]:
        trace, verdict, rows = one.trace, one.verdict, []
        if trace.solver is not None:
            rows.append(_row("solver", trace.solver, one.reward))
        if trace.proposer is not None:
            rows.append(_row("proposer", trace.proposer, outcome_reward(verdict, self._reward), trainable=False))
        if trace.checkers:
            reward = checker_reward(verdict, self._reward, trace.checks[-1].outcome)
            rows.append(_row("checker", trace.checkers[-1], reward))
        return rows

    def _metrics(self, traces: Sequence[Trace], judged: Sequence[_Judged]) -> dict[str, float]:
        """Shares and means over the traces that came to a verdict; `too_long` over all."""
        found = {"too_long": _mean([trace.too_long is not None for trace in traces])}
        if judged:
            found |= self._figures(judged) | _outcomes([one.trace for one in judged])
        return found

    def _figures(self, judged: Sequence[_Judged]) -> dict[str, float]:
        traces, verdicts = [one.trace for one in judged], [one.verdict for one in judged]
        proposals = [trace.proposal for trace in traces if trace.proposal is not None]
        found = {
            "ztr": _mean([ztr(verdict, self._reward) for verdict in verdicts]),
            "err": _mean([err(verdict, self._reward) for verdict in verdicts]),
            "questions_per_response": _mean([len(verdict.pairs) for verdict in verdicts]),
            "no_question_rate": _mean([not verdict.pairs for verdict in verdicts]),
            "answer_rate": _mean([trace.response.outcome is not Outcome.EMPTY for trace in traces]),
            "response_characters": _mean([len(trace.response.text) for trace in traces]),
            "response_cut_off": _mean([not trace.solver.sample.finished for trace in traces if trace.solver]),
            "prompt_cut": _mean([trace.cut for trace in traces]),
            "leaks_per_response": _mean([trace.leaks for trace in traces]),
            "unusable_per_response": _mean([proposal.unusable + proposal.malformed for proposal in proposals]),
        }
        scores = [one.model_score for one in judged if one.model_score is not None]
        return found | ({"model_reward": _mean(scores)} if scores else {})


def _outcomes(traces: Sequence[Trace]) -> dict[str, float]:
    """What the roles' texts parsed to, as shares per role."""
    seen = {
        "solver": [trace.response.outcome for trace in traces],
        "proposer": [trace.proposal.outcome for trace in traces if trace.proposal is not None],
        "checker": [check.outcome for trace in traces for check in trace.checks],
    }
    return {
        f"outcome/{role}_{outcome}": _mean([one is outcome for one in outcomes])
        for role, outcomes in seen.items()
        for outcome in _POSSIBLE[role]
    }


def _record(one: _Judged) -> dict[str, object]:
    """One line for `faithline reward march`, which needs the four texts and ignores the rest."""
    trace = one.trace
    return {
        "question_id": trace.question.id,
        "query": trace.question.query,
        "response": trace.response.text,
        "proposer_output": trace.proposer.sample.text if trace.proposer else "",
        "checker_outputs": [spoken.sample.text for spoken in trace.checkers],
        "reward": one.reward,
    }


def _row(role: str, spoken: Spoken, reward: float, *, trainable: bool = True) -> Row:
    return spoken.sample.row(role, spoken.prompt, reward, trainable=trainable)


def _mean(values: Sequence[float]) -> float:
    """Mean, 0 of nothing."""
    return fmean(values) if values else 0.0

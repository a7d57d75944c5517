"""One batch of questions through the three roles: who is asked what, and what is read out of the answers.

Solver → reasoning left out → Proposer → questions blinded → Checker, as often as votes are wanted. Each role answers
all questions of the batch in one call of the sampler. What the Checker's prompt is made of are documents and
`BlindQuestion`s: there is no way for a response or a proposed answer into it. Prompts over the limit lose documents,
never questions; what cannot be shown even so ends the question's trace there (`too_long`), and nothing is learned of
it, for no reward is known.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from faithline.agents.march import checker, proposer, solver
from faithline.agents.march.blinding import BlindQuestion, blind
from faithline.agents.march.checker import Check
from faithline.agents.march.outcome import Outcome
from faithline.agents.march.proposer import Proposal
from faithline.agents.march.solver import Response
from faithline.agents.passage import Passage
from faithline.lm.chat import TooLong
from faithline.march.settings import NewTokens
from faithline.rewards.march import Verdict, judge
from faithline.rewards.settings import MarchReward
from faithline.rl.episode import Sample, Sampler, derived_seed

if TYPE_CHECKING:
    from faithline.lm.chat import Build, Chat

__all__ = ["ROLES", "Question", "Roles", "Spoken", "Trace"]

Role = Literal["solver", "proposer", "checker"]
ROLES: tuple[Role, ...] = ("solver", "proposer", "checker")


@dataclass(frozen=True)
class Question:
    """A query with its documents, and nothing else."""

    id: str
    query: str
    passages: tuple[Passage, ...]


@dataclass(frozen=True)
class Spoken:
    """A prompt and what a role made of it."""

    prompt: tuple[int, ...]
    sample: Sample


@dataclass
class Trace:
    """What became of one question, role by role; what was not reached is None or empty."""

    question: Question
    too_long: Role | None = None
    """The role whose prompt exceeds the limit even without documents; the trace ends before it."""
    cut: bool = False
    """Whether a prompt has lost documents or parts of one."""
    solver: Spoken | None = None
    response: Response = field(default_factory=lambda: Response(Outcome.EMPTY, ""))
    proposer: Spoken | None = None
    proposal: Proposal | None = None
    blind: tuple[BlindQuestion, ...] = ()
    leaks: int = 0
    """Questions that stated a proposed answer before they were blinded."""
    checkers: tuple[Spoken, ...] = ()
    """One per vote."""
    checks: tuple[Check, ...] = ()
    verdict: Verdict | None = None


class Roles:
    """Runs the roles over batches.

    Args:
        chat: The backbone's template and tokeniser.
        reward: What decides parsing, number of pairs and votes.
        new_tokens: The most that each role writes.
        max_prompt_tokens: Longer prompts lose documents.
        greedy: Roles that take their likeliest tokens; the others sample.
    """

    def __init__(
        self,
        chat: Chat,
        reward: MarchReward,
        new_tokens: NewTokens,
        max_prompt_tokens: int,
        greedy: Collection[str] = (),
    ) -> None:
        self._chat = chat
        self._reward = reward
        self._new_tokens = new_tokens
        self._limit = max_prompt_tokens
        self._greedy = frozenset(greedy)

    def too_long(self, question: Question) -> bool:
        """Whether a question cannot be shown to the Solver even without documents."""
        bare = self._chat.prompt(solver.messages(question.query, ()))
        return len(bare) > self._limit

    def run(self, questions: Sequence[Question], sampler: Sampler, *, seed: int) -> list[Trace]:
        """Take questions from Solver to verdict.

        Args:
            questions: The batch.
            sampler: The policies.
            seed: Decides all draws.
        """
        traces = [Trace(question) for question in questions]
        prompts = [self._solver_prompt(trace) for trace in traces]
        for trace, spoken in self._ask("solver", traces, prompts, sampler, seed=derived_seed(seed, "solver")):
            trace.solver, trace.response = spoken, solver.parse(spoken.sample.text)
        self.check(traces, sampler, seed=seed)
        return traces

    def check(self, traces: Sequence[Trace], sampler: Sampler, *, seed: int) -> None:
        """Take responses from Proposer to verdict.

        Args:
            traces: With `response`; an empty one gets no question.
            sampler: The policies.
            seed: Decides all draws.
        """
        reached = [trace for trace in traces if trace.too_long is None]
        shown = [trace for trace in reached if trace.response.text]
        prompts = [self._proposer_prompt(trace) for trace in shown]
        for trace, spoken in self._ask("proposer", shown, prompts, sampler, seed=derived_seed(seed, "proposer")):
            trace.proposer = spoken
            trace.proposal = proposer.parse(spoken.sample.text, self._reward.parser, self._reward.max_pairs)
            blinded = blind(trace.proposal.pairs)
            trace.blind, trace.leaks = blinded.questions, blinded.leaks
        asked = [trace for trace in reached if trace.blind]
        self._vote(asked, sampler, seed)
        for trace in reached:
            if trace.too_long is None:
                pairs = trace.proposal.pairs if trace.proposal else ()
                trace.verdict = judge(pairs, trace.checks, self._reward.comparator)

    def _vote(self, traces: Sequence[Trace], sampler: Sampler, seed: int) -> None:
        prompts = [self._checker_prompt(trace) for trace in traces]
        for vote in range(self._reward.checker_votes):
            drawn = derived_seed(seed, f"checker {vote}")
            for trace, spoken in self._ask("checker", traces, prompts, sampler, seed=drawn):
                trace.checkers += (spoken,)
                trace.checks += (checker.parse(spoken.sample.text, len(trace.blind), self._reward.parser),)

    def _ask(
        self,
        role: Role,
        traces: Sequence[Trace],
        prompts: Sequence[tuple[int, ...] | None],
        sampler: Sampler,
        *,
        seed: int,
    ) -> list[tuple[Trace, Spoken]]:
        asked = [(trace, prompt) for trace, prompt in zip(traces, prompts, strict=True) if prompt is not None]
        if not asked:
            return []
        samples = sampler.sample(
            role,
            [prompt for _, prompt in asked],
            seed=seed,
            greedy=role in self._greedy,
            max_new_tokens=getattr(self._new_tokens, role),
        )
        return [(trace, Spoken(prompt, sample)) for (trace, prompt), sample in zip(asked, samples, strict=True)]

    def _solver_prompt(self, trace: Trace) -> tuple[int, ...] | None:
        query = trace.question.query
        return self._fitted(trace, "solver", lambda shown: solver.messages(query, shown))

    def _proposer_prompt(self, trace: Trace) -> tuple[int, ...] | None:
        settings = self._reward
        query = trace.question.query if settings.proposer_sees_query else None
        few, many = settings.min_pairs, settings.max_pairs
        prompt = self._chat.prompt(proposer.messages(trace.response.text, query, min_pairs=few, max_pairs=many))
        if len(prompt) <= self._limit:
            return tuple(prompt)
        trace.too_long = "proposer"
        return None

    def _checker_prompt(self, trace: Trace) -> tuple[int, ...] | None:
        return self._fitted(trace, "checker", _checker_builder(trace.blind))

    def _fitted(self, trace: Trace, role: Role, build: Build) -> tuple[int, ...] | None:
        fitted = self._chat.fit(build, trace.question.passages, self._limit)
        if isinstance(fitted, TooLong):
            trace.too_long = role
            return None
        trace.cut = trace.cut or fitted.dropped > 0 or fitted.shortened
        return tuple(fitted.ids)


def _checker_builder(questions: Sequence[BlindQuestion]) -> Build:
    """The Checker's prompt: it is handed blinded questions and will be handed documents, and nothing else."""
    return lambda shown: checker.messages(questions, shown)

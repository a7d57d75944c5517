"""Scripted roles for the tests of MARCH's episodes: texts instead of a model, through the real template and parsers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from faithline.agents.passage import Passage
from faithline.lm.chat import Chat
from faithline.march.roles import Question
from faithline.march.settings import NewTokens
from faithline.rewards.settings import MarchReward
from faithline.rl.episode import Sample

PLAIN: dict[str, Any] = {
    "comparator": "canonical",
    "parser": "strict",
    "proposer_sees_query": True,
    "min_pairs": 1,
    "max_pairs": 4,
    "below_min": "score",
    "checker_votes": 1,
    "outcome": "ztr",
    "scale": "minus_one_zero",
    "empty_reward": 0.0,
    "terms": {"reward_model": 0.0, "solver_format": 0.0, "checker_format": 0.0},
    "canaries": {"items": 2, "margin": 0.05, "rollout": "refuse"},
}
TOKENS = NewTokens(solver=50, proposer=60, checker=70)

Speak = Callable[[str, int], str]
"""A role: prompt as text and its place in the call, to completion."""


class Script:
    """A sampler whose policies are functions; keeps what it was asked."""

    def __init__(self, chat: Chat, **roles: Speak) -> None:
        self._chat = chat
        self._roles = roles
        self.calls: list[tuple[str, list[str], int, bool, int | None]] = []

    def sample(
        self,
        role: str,
        prompts: Sequence[Sequence[int]],
        *,
        seed: int,
        greedy: bool = False,
        max_new_tokens: int | None = None,
    ) -> list[Sample]:
        texts = [str(self._chat.tokenizer.decode(list(prompt))) for prompt in prompts]
        self.calls.append((role, texts, seed, greedy, max_new_tokens))
        spoken = [self._roles[role](text, place) for place, text in enumerate(texts)]
        return [Sample(tuple(self._chat.completion(text)), text, True, None) for text in spoken]

    def prompts(self, role: str) -> list[str]:
        """All prompts that a role was shown."""
        return [text for name, texts, *_ in self.calls if name == role for text in texts]


@pytest.fixture(scope="session")
def chat(tiny_backbone: Path) -> Chat:
    from faithline.lm import backbone

    return Chat(backbone.load_tokenizer(tiny_backbone))


@pytest.fixture(scope="session")
def script(chat: Chat) -> Callable[..., Script]:
    """Make a sampler of functions."""
    return lambda **roles: Script(chat, **roles)


@pytest.fixture(scope="session")
def reward_with() -> Callable[..., MarchReward]:
    """Reward settings with some keys changed; keys of `terms` and `canaries` are given plainly."""

    def make(**changed: Any) -> MarchReward:
        raw = {**PLAIN, "terms": {**PLAIN["terms"]}, "canaries": {**PLAIN["canaries"]}}
        for key, value in changed.items():
            owner = next((raw[part] for part in ("terms", "canaries") if key in raw[part]), raw)
            owner[key] = value
        return msgspec.convert(raw, MarchReward)

    return make


@pytest.fixture(scope="session")
def town() -> Callable[..., Question]:
    """A question about a town with a number of inhabitants that is its own."""

    def make(number: int) -> Question:
        passages = (
            Passage(f"t/{number}", f"Town {chr(97 + number)}", f"It has {number + 1000} inhabitants."),
            Passage(f"u/{number}", "River", "It is long. " * 5),
        )
        return Question(f"q{number}", f"How many people live in town {chr(97 + number)}?", passages)

    return make

"""Settings, engines and toy episodes on a random two-layer model."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from faithline.rl.engine.local import LocalEngine
from faithline.rl.episode import Play, Sampler
from faithline.rl.settings import Ppo
from faithline.rl.trainer import Result, train
from faithline.store.objects import FolderStore

SETTINGS: dict[str, Any] = {
    "device": "cpu",
    "dtype": "float32",
    "tuning": "lora",
    "adapters": "shared",
    "lora": {"rank": 4, "alpha": 8, "target_modules": ["q_proj", "v_proj", "o_proj", "down_proj"]},
    "trained_roles": ["actor"],
    "reference": "base",
    "steps": 6,
    "batch_questions": 4,
    "rollout": {
        "temperature": 1.0,
        "top_p": 1.0,
        "top_k": 0,
        "max_prompt_tokens": 64,
        "max_new_tokens": 5,
        "batch_tokens": 4096,
    },
    "epochs": 2,
    "minibatch_rows": 3,
    "micro_tokens": 40,
    "gradient_checkpointing": False,
    "gamma": 1.0,
    "lam": 0.95,
    "whitening": "joint",
    "loss_mean": "token",
    "entropy_coefficient": 0.0,
    "actor": {
        "learning_rate": 1e-2,
        "scheduler": "constant",
        "warmup_steps": 0,
        "weight_decay": 0.0,
        "max_grad_norm": 1.0,
    },
    "critic": {
        "model": "heads",
        "heads": "shared",
        "train_features": False,
        "learning_rate": 1e-2,
        "scheduler": "constant",
        "warmup_steps": 0,
        "only_steps": 0,
        "weight_decay": 0.0,
        "max_grad_norm": 1.0,
        "coefficient": 0.5,
    },
    "kl": {
        "where": "loss",
        "estimator": "k3",
        "controller": "fixed",
        "coefficient": 0.01,
        "target": 1.0,
        "horizon": 100.0,
        "floor": 0.0,
    },
    "clip": {"low": 0.2, "high": 0.2, "dual": 3.0, "value": 0.5},
    "selection": {"every": 2},
    "checkpoints": {"every": 2, "keep": 2},
    "health": {
        "patience": 2,
        "max_kl": 1e6,
        "flat_steps": 3,
        "min_entropy": 0.0,
        "repeated_share": 0.9,
        "min_tokens": 50,
        "max_degenerate": 1.0,
        "baseline_steps": 2,
        "min_questions_share": 0.5,
    },
}


def settings(**patch: Any) -> Ppo:
    """Settings, patched key by key."""
    return msgspec.convert(_merged(SETTINGS, patch), Ppo)


def _merged(base: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    both = {key: _merged(base[key], new) for key, new in patch.items() if isinstance(new, Mapping)}
    return {**base, **patch, **both}


Settings = Callable[..., Ppo]
MakeEngine = Callable[..., LocalEngine]


@pytest.fixture(scope="session")
def ppo() -> Settings:
    """Factory: settings, patched key by key."""
    return settings


@pytest.fixture
def make_engine(tiny_backbone: Path, ppo: Settings) -> MakeEngine:
    """Factory: an engine on the tiny backbone."""

    def make(
        *,
        roles: Sequence[str] = ("actor",),
        init: dict[str, Path] | None = None,
        seed: int = 1,
        folder: Path = tiny_backbone,
        **patch: Any,
    ) -> LocalEngine:
        return LocalEngine(folder, ppo(**patch), roles=roles, init=init or {}, seed=seed)

    return make


@dataclass(frozen=True)
class Toy:
    """Every role continues a prompt of its own; the reward is a function of role, prompt and response."""

    worth: Callable[[str, Sequence[int], Sequence[int]], float]
    roles: tuple[str, ...] = ("actor",)
    best_reward: float = 1.0

    def play(self, questions: Sequence[Sequence[int]], sampler: Sampler, *, seed: int) -> Play:
        rows = []
        for role in self.roles:
            drawn = sampler.sample(role, questions, seed=seed ^ zlib.crc32(role.encode()))
            rows += [
                sample.row(role, prompt, self.worth(role, prompt, sample.ids))
                for prompt, sample in zip(questions, drawn, strict=True)
            ]
        return Play(rows, {"answered": 1.0}, [{"role": row.role, "reward": row.reward} for row in rows])

    def judge(self, questions: Sequence[Sequence[int]], sampler: Sampler, *, seed: int) -> dict[str, float]:
        scores = [
            self.worth(role, prompt, sample.ids)
            for role in self.roles
            for prompt, sample in zip(questions, sampler.sample(role, questions, seed=seed, greedy=True), strict=True)
        ]
        return {"score": sum(scores) / len(scores)}


@pytest.fixture(scope="session")
def toy() -> type[Toy]:
    """The toy episode."""
    return Toy


PROMPTS = [[40, 41, 10 + number] for number in range(4)]
QUESTIONS = PROMPTS * 3


def parity(_role: str, _prompt: Sequence[int], ids: Sequence[int]) -> float:
    return sum(token % 2 for token in ids) / len(ids)


class Notes:
    """A report that keeps what it is told."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.judged_steps: list[int] = []
        self.warnings: list[str] = []
        self.began: list[int] = []

    def begin(self, step: int) -> None:
        self.began.append(step)

    def stepped(self, step: int, metrics: Mapping[str, float], records: Sequence[Mapping[str, object]]) -> None:
        assert records
        self.steps.append(step)

    def judged(self, step: int, figures: Mapping[str, float]) -> None:
        self.judged_steps.append(step)

    def warn(self, what: str) -> None:
        self.warnings.append(what)


def run(engine: LocalEngine, episode: Any, folder: Path, questions: Any = QUESTIONS, **more: Any) -> Result:
    plain = {"origin": {"data": "toy"}, "checkpoints": FolderStore(folder / "store"), "scratch": folder / "scratch"}
    return train(engine, episode, questions, questions, **(plain | more))


def export(engine: LocalEngine, folder: Path) -> str:
    """Digest of the exported adapter."""
    folder.mkdir(exist_ok=True)
    engine.export("policy", folder, "models/backbone")
    return hashlib.sha256((folder / "adapter_model.safetensors").read_bytes()).hexdigest()

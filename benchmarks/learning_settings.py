"""Settings of the learning benchmark: `learning_march.yaml`, typed."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from components.warm_start.params import Adapter, Optimisation, Roles, WarmStart
from components.warm_start.params import DocumentRows as Rows
from components.warm_start.params import Lora as WarmLora
from faithline.march.settings import NewTokens
from faithline.pipeline.params import convert
from faithline.pipeline.yaml import read_mapping
from faithline.rewards.settings import MarchReward
from faithline.rl.settings import Lora, Ppo

__all__ = ["Arm", "Benchmark", "load", "warm_start_of"]

SETTINGS = Path(__file__).with_name("learning_march.yaml")


class Counts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Examples per role."""

    solver: int
    proposer: int
    checker: int


class Start(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The warm start."""

    train: Counts
    validation: Counts
    lora: Lora
    optimisation: Optimisation


class Items(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How many items of each part."""

    train: int
    validation: int
    held_out: int
    agreement: int


class Arm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What one training does otherwise than the rest."""

    outcome: Literal["ztr", "err"]
    trained_roles: list[str]
    greedy_roles: list[str]
    """Judges that take their likeliest tokens; none that are trained."""


class Benchmark(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The whole file."""

    seed: int
    device: Literal["auto", "cpu", "cuda"]
    warm_start: Start
    items: Items
    reward: MarchReward
    max_new_tokens: NewTokens
    ppo: Ppo
    arms: dict[str, Arm]

    def reward_of(self, arm: Arm) -> MarchReward:
        """The reward of an arm."""
        return msgspec.structs.replace(self.reward, outcome=arm.outcome)

    def ppo_of(self, arm: Arm) -> Ppo:
        """The training of an arm: an optimiser step takes all rows of a batch, however many roles learn."""
        rows = self.ppo.minibatch_rows * len(arm.trained_roles)
        return msgspec.structs.replace(self.ppo, trained_roles=arm.trained_roles, minibatch_rows=rows)


def load(path: Path = SETTINGS) -> Benchmark:
    """Read the file.

    Raises:
        ConfigError: It is wrong.
    """
    return convert(read_mapping(path), Benchmark, path)


def warm_start_of(settings: Benchmark) -> WarmStart:
    """The section that components.warm_start trains by; which examples is the benchmark's own affair."""
    start = settings.warm_start
    named = Roles(solver=Rows(sets=None, train=1, validation=1, distractors=0))
    steps = sum(msgspec.structs.astuple(start.train)) // start.optimisation.batch_size
    return WarmStart(
        device=settings.device,
        dtype="float32",
        adapters={"march": Adapter(roles=named, max_length=1)},
        lora=WarmLora(
            rank=start.lora.rank, alpha=start.lora.alpha, dropout=0.0, target_modules=start.lora.target_modules
        ),
        optimisation=start.optimisation,
        log_every=1,
        eval_every=max(1, steps // 2),
        keep="last",
    )

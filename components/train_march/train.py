"""One training of MARCH: what it is made of, in the order in which it can go wrong.

Data are read and canaries tried before the first step. Checkpoints lie outside the stage's outputs, as DVC removes
those before a stage runs: where `run-stage` says (FAITHLINE_CHECKPOINTS), else in the project's folder `checkpoints`.
They are removed once the result is written. Texts of the episodes go to logs/train_march/traces.jsonl, in the form that
`faithline reward march` replays.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from components.train_march.params import Params
from components.train_march.questions import Questions, numeric_questions, read_questions
from faithline.march.canaries import find_items, rolled_out, scripted
from faithline.march.episode import MarchEpisode
from faithline.march.roles import ROLES, Roles
from faithline.pipeline.records import input_digest
from faithline.pipeline.stage import StageContext
from faithline.rewards.canaries import Tried, refuse_free_reward, try_out
from faithline.rl.engine.local import LocalEngine
from faithline.rl.network import SHARED
from faithline.rl.reports import Report, StageReport, TensorBoard
from faithline.rl.saving import clear
from faithline.rl.trainer import Result, train
from faithline.store.objects import Store, open_store
from faithline.training_sets.schema import TrainingSplit

__all__ = ["Training", "summary"]

CHECKPOINTS = "FAITHLINE_CHECKPOINTS"
"""Environment variable that says where checkpoints go."""
_DATA, _SFT, _WARM_START = "data/training/march", "data/training/sft", "models/warm_start"


class Training:
    """Engine, episode and data of one run of the stage."""

    def __init__(self, ctx: StageContext[Params]) -> None:
        """Load everything.

        Raises:
            DataInvalid: There is no question, or no warm start.
            ConfigError: Settings do not fit together.
            EnvironmentMismatch: The warm start belongs to another backbone.
        """
        self._ctx = ctx
        self._settings = settings = ctx.params.march
        init = {SHARED: ctx.dep(f"{_WARM_START}/march")} if settings.init == "warm_start" else {}
        self._engine = LocalEngine(
            ctx.dep("models/backbone"), settings.ppo, roles=ROLES, init=init, seed=ctx.seed
        )  # fmt: skip
        limit = settings.ppo.rollout.max_prompt_tokens
        self._roles = Roles(
            self._engine.chat, settings.reward, settings.max_new_tokens, limit, settings.greedy_roles
        )  # fmt: skip
        self._episode = MarchEpisode(self._roles, settings.reward)
        self._train, self._held_out = self._read("train"), self._read("validation")
        self._logs = ctx.log_folder()
        if init:
            self._warn_of_other_prompts()

    def try_canaries(self) -> None:
        """Refuse the training if there is free reward, by perfect roles or by the ones that will judge.

        Raises:
            ConfigError: There is.
        """
        reward = self._settings.reward
        items = find_items(numeric_questions(self._ctx.dep(_SFT)), reward.canaries.items)
        if not items:
            self._ctx.log.warning("no canaries: there are no two questions with a numeric answer to try")
            return
        found = try_out(scripted(reward), items, reward)
        self._show("scripted roles", found)
        refuse_free_reward(found)
        if reward.canaries.rollout == "skip":
            return
        found = try_out(rolled_out(self._roles, reward, self._engine, seed=self._ctx.seed), items, reward)
        self._show("the roles as they are", found)
        if reward.canaries.rollout == "refuse":
            refuse_free_reward(found)

    def run(self) -> Result:
        """Train; the engine then holds the best step's weights."""
        ctx, store = self._ctx, self._store()
        settings = msgspec.to_builtins(self._settings)
        course = ("reward", "max_new_tokens", "greedy_roles", "data")
        origin = {name: json.dumps(settings[name], sort_keys=True) for name in course}
        origin["tables"] = input_digest(ctx.dep(_DATA))
        with ctx.progress(self._settings.ppo.steps, "steps", "training") as progress:
            reports: list[Report] = [StageReport(ctx.log, progress, self._logs / "traces.jsonl")]
            if self._settings.tensorboard:
                reports.append(TensorBoard(self._logs / "tensorboard"))
            return train(
                self._engine,
                self._episode,
                self._train.kept,
                self._held_out.kept,
                origin=origin,
                checkpoints=store,
                scratch=self._logs / "scratch",
                reports=reports,
            )

    def export(self, folder: Path) -> None:
        """Write the best step's policy and forget the checkpoints, which the next run must not continue from."""
        self._engine.export(SHARED, folder, "models/backbone")
        clear(self._store())

    def _read(self, split: TrainingSplit) -> Questions:
        found = read_questions(self._ctx.dep(_DATA), split, self._settings.data, self._roles.too_long)
        self._ctx.log.info(split, questions=len(found.kept), too_long=found.too_long)
        return found

    def _store(self) -> Store:
        project = self._logs.parents[1]
        return open_store(os.environ.get(CHECKPOINTS) or str(project / "checkpoints/train_march"))

    def _show(self, who: str, found: Sequence[Tried]) -> None:
        earned = {str(one.canary): f"{one.reward:+.3f} {one.verdict}" for one in found}
        self._ctx.log.info("canaries", judges=who, faithful=f"{found[0].faithful:+.3f}", **earned)

    def _warn_of_other_prompts(self) -> None:
        """Compare the Proposer's prompt with the one that the warm start has taught."""
        path = self._ctx.dep(_WARM_START) / "record.json"
        params = json.loads(path.read_text(encoding="utf-8"))["params"] if path.is_file() else {}
        taught = params.get("warm_start", {}).get("adapters", {}).get("march", {}).get("roles", {}).get("proposer")
        reward = self._settings.reward
        used = {
            "sees_query": reward.proposer_sees_query,
            "min_pairs": reward.min_pairs,
            "max_pairs": reward.max_pairs,
        }
        other = [name for name, value in used.items() if taught and taught.get(name) != value]
        if other:
            what = "the warm start has taught the Proposer another prompt than march.reward asks for"
            self._ctx.log.warning(what, differs=", ".join(other))


def summary(result: Result) -> dict[str, float]:
    """Metrics of a training: held-out figures before it and of the step kept, and where it ended."""
    judged = {int(row["step"]): row for row in result.curve if "held_out/score" in row}
    first, kept = judged[0], judged[result.best_step]
    figures = sorted(name.removeprefix("held_out/") for name in kept if name.startswith("held_out/"))
    found = {f"{name}_before": first[f"held_out/{name}"] for name in figures if f"held_out/{name}" in first}
    found |= {name: kept[f"held_out/{name}"] for name in figures}
    return found | {"kept_step": result.best_step, "steps": max(int(row["step"]) for row in result.curve)}

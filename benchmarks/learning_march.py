"""MARCH learns: warm start, trainings and measurements of the learning benchmark, each resumable.

In a work folder: `warm_start/` (one adapter for the three roles), per arm `<arm>/adapter` with its checkpoints beside
it, and per policy `<name>/responses.jsonl`, the responses to the held-out items. What is there is not done again, and a
training that was killed continues from its last step, so the command can be repeated until it is through.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from benchmarks.learning_settings import Arm, Benchmark, warm_start_of
from benchmarks.learning_task import examples, items, question
from components.warm_start import train as supervised
from faithline.agents.march import solver
from faithline.lm import backbone
from faithline.lm.chat import Chat
from faithline.march.episode import MarchEpisode
from faithline.march.roles import ROLES, Roles, Trace
from faithline.pipeline.records import write_json
from faithline.rl.engine.local import LocalEngine
from faithline.rl.network import SHARED
from faithline.rl.reports import write_curve
from faithline.rl.trainer import train
from faithline.store.objects import open_store
from faithline.world.grounding import Grounding

__all__ = ["Lab"]

_BATCH = 48
"""Items measured at once."""
_MEASURE_SEED, _AGREEMENT_SEED = 101, 102


class Lab:
    """One run of the benchmark.

    Args:
        settings: The benchmark's.
        folder: Backbone.
        work: Where everything is kept.
        say: Told what happens.
    """

    def __init__(self, settings: Benchmark, folder: Path, work: Path, say: Callable[[str], None]) -> None:
        self._settings = settings
        self._folder = folder
        self._work = work
        self._say = say
        work.mkdir(parents=True, exist_ok=True)

    def warm_start(self) -> Path:
        """Train the adapter that everything starts with."""
        out = self._work / "warm_start"
        if (out / backbone.BASE_FILE).is_file():
            return out
        started, settings = time.monotonic(), self._settings.warm_start
        base = backbone.load(self._folder, device=self._settings.device, dtype="float32")
        chat = Chat(base.tokenizer)
        own = supervised.Examples(
            train=examples(chat, "warm_start", msgspec.structs.asdict(settings.train)),
            validation=examples(chat, "validation", msgspec.structs.asdict(settings.validation)),
        )
        done = 0

        def advance(tokens: int) -> None:
            nonlocal done
            done += tokens
            self._say(f"warm start: {done}/{own.train.tokens} tokens, {time.monotonic() - started:.0f} s")

        result = supervised.train(base, own, warm_start_of(self._settings), self._settings.seed, advance)
        write_json(self._folder_of("warm_start") / "summary.json", supervised.summary(result, own))
        supervised.write_adapter(result.model, out, "models/backbone")
        backbone.write_base(out, self._folder)
        self._note("warm_start", time.monotonic() - started)
        return out

    def arm(self, name: str, arm: Arm) -> Path:
        """Train one arm."""
        out = self._work / name / "adapter"
        if (out / backbone.BASE_FILE).is_file():
            return out
        started, settings = time.monotonic(), self._settings
        ppo, reward = settings.ppo_of(arm), settings.reward_of(arm)
        engine = LocalEngine(
            self._folder, ppo, roles=ROLES, init={SHARED: self._work / "warm_start"}, seed=settings.seed
        )
        episode = MarchEpisode(self._roles(engine.chat, arm), reward)
        result = train(
            engine,
            episode,
            [question(item) for item in items("train", settings.items.train)],
            [question(item) for item in items("validation", settings.items.validation)],
            origin={"arm": json.dumps(msgspec.to_builtins([arm, reward]), sort_keys=True)},
            checkpoints=open_store(str(self._folder_of(name) / "checkpoints")),
            scratch=self._work / name / "scratch",
            reports=[_Told(name, self._say, self._work / name / "traces.jsonl")],
        )
        write_curve(result.curve, self._work / name / "curve.csv")
        write_json(self._work / name / "summary.json", {"kept_step": result.best_step, "score": result.best_score})
        out.mkdir(exist_ok=True)
        engine.export(SHARED, out, "models/backbone")
        self._note(name, time.monotonic() - started)
        return out

    def responses(self, name: str, adapter: Path) -> list[str]:
        """A policy's responses to the held-out items, sampled as in training, with the same draws for all policies."""
        path, chosen = self._folder_of(name) / "responses.jsonl", items("held_out", self._settings.items.held_out)
        done = [json.loads(line)["response"] for line in path.read_text().splitlines()] if path.is_file() else []
        if len(done) < len(chosen):
            engine = self._engine(adapter)
            for start in range(len(done), len(chosen), _BATCH):
                texts = self._solve(engine, chosen[start : start + _BATCH], seed=_MEASURE_SEED + start)
                with path.open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps({"response": text}) + "\n" for text in texts)
                done += texts
                self._say(f"{name}: {len(done)}/{len(chosen)} held-out items")
        return done[: len(chosen)]

    def agreement(self, adapter: Path) -> tuple[list[Grounding], list[Trace]]:
        """Whole traces of validation items, to hold the reward against the truth."""
        engine, chosen = self._engine(adapter), items("agreement", self._settings.items.agreement)
        roles = self._roles(engine.chat, next(iter(self._settings.arms.values())))
        traces: list[Trace] = []
        for start in range(0, len(chosen), _BATCH):
            asked = [question(item) for item in chosen[start : start + _BATCH]]
            traces += roles.run(asked, engine, seed=_AGREEMENT_SEED + start)
            self._say(f"agreement: {len(traces)}/{len(chosen)}")
        return chosen, traces

    def seconds(self) -> dict[str, float]:
        """How long each part took, in the run that finished it."""
        found = sorted(self._work.glob("*/seconds.json"))
        return {path.parent.name: json.loads(path.read_text())["seconds"] for path in found}

    def _engine(self, adapter: Path) -> LocalEngine:
        return LocalEngine(
            self._folder, self._settings.ppo, roles=ROLES, init={SHARED: adapter}, seed=self._settings.seed
        )

    def _roles(self, chat: Chat, arm: Arm) -> Roles:
        settings = self._settings
        limit = settings.ppo.rollout.max_prompt_tokens
        return Roles(chat, settings.reward_of(arm), settings.max_new_tokens, limit, arm.greedy_roles)

    def _solve(self, engine: LocalEngine, chosen: Sequence[Grounding], *, seed: int) -> list[str]:
        asked = [question(item) for item in chosen]
        prompts = [engine.chat.prompt(solver.messages(one.query, one.passages)) for one in asked]
        limit = self._settings.max_new_tokens.solver
        samples = engine.sample("solver", prompts, seed=seed, max_new_tokens=limit)
        return [solver.parse(sample.text).text for sample in samples]

    def _folder_of(self, name: str) -> Path:
        folder = self._work / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _note(self, name: str, seconds: float) -> None:
        write_json(self._folder_of(name) / "seconds.json", {"seconds": round(seconds, 1)})


class _Told:
    """A training's report: one line a step, and the episodes' texts in a file."""

    def __init__(self, name: str, say: Callable[[str], None], traces: Path) -> None:
        self._name, self._say, self._traces = name, say, traces
        self._last = time.monotonic()

    def begin(self, step: int) -> None:
        """Say where it starts."""
        self._say(f"{self._name}: from step {step}")

    def stepped(self, step: int, metrics: Mapping[str, float], records: Sequence[Mapping[str, object]]) -> None:
        """Say the main metrics."""
        shown = ("reward/solver", "ztr", "questions_per_response", "kl", "entropy/solver", "clip_fraction")
        text = ", ".join(f"{name} {metrics[name]:.3g}" for name in shown if name in metrics)
        seconds, self._last = time.monotonic() - self._last, time.monotonic()
        self._say(f"{self._name}: step {step} ({seconds:.0f} s): {text}")
        with self._traces.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps({"step": step, **one}) + "\n" for one in records)

    def judged(self, step: int, figures: Mapping[str, float]) -> None:
        """Say the held-out figures."""
        self._say(f"{self._name}: step {step}: held-out score {figures['score']:.3f}")
        self._last = time.monotonic()

    def warn(self, what: str) -> None:
        """Say it."""
        self._say(f"{self._name}: {what}")

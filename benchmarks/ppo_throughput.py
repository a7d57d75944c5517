"""Speed of the PPO core against the same model without it, in one run.

    python -m benchmarks.ppo_throughput BACKBONE [--rounds 5] [--write docs/ppo-throughput.md]

Update: the engine's optimiser step (losses, value heads, clipping, AdamW, metrics) on a batch of rows, against forward
and backward passes alone of the same adapter on the same backbone and micro-batches, with logits of all positions as
transformers computes them for a loss, and with logits of the responses only. At least 80 % is required of the harder
one. The whole step has two forward passes more, for the old and reference probabilities; it is shown, not judged.

Rollout: the engine's sampling against transformers' own batched `generate`, left-padded, with the same adapter, the
same prompts and as many new tokens each; and the same with what MARCH's prompts have in common (an instruction at the
beginning, responses of different lengths), where tokens after a response's end do not count. At least 1.0 is required
of the first.

Both sides take turns, round by round, and the median of the rounds' ratios is shown. On a CPU the clock is the CPU time
of this process on one thread, as machines are shared; on a GPU it is wall time after synchronisation.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import msgspec
import numpy as np
import torch
from peft import LoraConfig, TaskType, get_peft_model
from torch.nn import functional
from transformers import AutoModelForCausalLM, GenerationConfig

from faithline.lm.generate import Request, Sampling, generate
from faithline.rl.engine.local import LocalEngine
from faithline.rl.forward import forward
from faithline.rl.row import Row
from faithline.rl.rows import Inputs, to_inputs
from faithline.rl.settings import Ppo

LEAST_UPDATE, LEAST_ROLLOUT = 0.8, 1.0
MODULES = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
OPTIMISATION = {
    "learning_rate": 1e-5,
    "scheduler": "constant",
    "warmup_steps": 0,
    "weight_decay": 0.0,
    "max_grad_norm": 1.0,
}
SETTINGS: dict[str, Any] = {
    "device": "auto",
    "dtype": "auto",
    "tuning": "lora",
    "adapters": "shared",
    "lora": {"rank": 16, "alpha": 32, "target_modules": MODULES},
    "trained_roles": ["solver", "checker"],
    "reference": "base",
    "steps": 1000,
    "batch_questions": 8,
    "rollout": {
        "temperature": 1.0,
        "top_p": 1.0,
        "top_k": 0,
        "max_prompt_tokens": 512,
        "max_new_tokens": 64,
        "batch_tokens": 16384,
    },
    "epochs": 1,
    "minibatch_rows": 1000,
    "micro_tokens": 2048,
    "gradient_checkpointing": False,
    "gamma": 1.0,
    "lam": 0.95,
    "whitening": "joint",
    "loss_mean": "token",
    "entropy_coefficient": 0.0,
    "actor": OPTIMISATION,
    "critic": OPTIMISATION
    | {"model": "heads", "heads": "shared", "train_features": False, "only_steps": 0, "coefficient": 0.5},
    "kl": {
        "where": "loss",
        "estimator": "k3",
        "controller": "fixed",
        "coefficient": 1e-3,
        "target": 6.0,
        "horizon": 10000.0,
        "floor": 0.0,
    },
    "clip": {"low": 0.2, "high": 0.2, "dual": 3.0, "value": 0.5},
    "selection": {"every": 100},
    "checkpoints": {"every": 100, "keep": 2},
    "health": {
        "patience": 5,
        "max_kl": 100.0,
        "flat_steps": 20,
        "min_entropy": 0.0,
        "repeated_share": 0.5,
        "min_tokens": 32,
        "max_degenerate": 0.5,
        "baseline_steps": 10,
        "min_questions_share": 0.5,
    },
}


@dataclass(frozen=True)
class Line:
    """One comparison."""

    what: str
    ours: float
    """Tokens per second, median."""
    theirs: float
    ratio: float
    """Median of the rounds' ratios."""
    least: float | None
    """Ratio that is required."""


def seconds(work: Callable[[], object], device: torch.device) -> float:
    """What a call takes, by the clock that fits the device."""
    if device.type != "cuda":
        start = time.process_time()
        work()
        return time.process_time() - start
    torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def compare(
    what: str,
    ours: tuple[Callable[[], object], int],
    theirs: tuple[Callable[[], object], int],
    *,
    rounds: int,
    device: torch.device,
    least: float | None,
) -> Line:
    """Let both take turns; each is a call and the tokens that it handles."""
    for work, _ in (ours, theirs):
        work()
    pairs = []
    for number in range(rounds):
        # Who comes second may find warmer caches, so the order alternates.
        order = (ours, theirs) if number % 2 == 0 else (theirs, ours)
        found = {id(side): side[1] / seconds(side[0], device) for side in order}
        pairs.append((found[id(ours)], found[id(theirs)]))
    ratio = statistics.median(one / other for one, other in pairs)
    line = Line(what, statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs), ratio, least)
    print(f"{what}: {ratio:.2f}", file=sys.stderr)
    return line


def make_rows(random: np.random.Generator, count: int, vocabulary: int) -> list[Row]:
    """Rows of MARCH's shape: a few tokens behind hundreds."""
    return [
        Row(
            role,
            random.integers(100, vocabulary, random.integers(250, 450)).tolist(),
            random.integers(100, vocabulary, random.integers(24, 64)).tolist(),
            float(random.integers(-1, 1)),
        )
        for _ in range(count)
        for role in ("solver", "checker")
    ]


def updates(engine: LocalEngine, count: int, rounds: int) -> list[Line]:
    """The optimiser step against bare passes."""
    network, device = engine.network, engine.network.base.device
    rows = make_rows(np.random.default_rng(0), count, len(engine.chat.tokenizer))
    tokens = sum(row.length for row in rows)
    batch = engine.prepare(rows, engine.score(rows))
    inputs = [to_inputs([rows[i] for i in part], device) for _, part in engine.batches(rows, range(len(rows)))]

    def drop() -> None:
        for weight in network.trainable["policy"].values():
            weight.grad = None

    def every_position() -> None:
        model = network.use("policy")
        for part in inputs:
            with network.autocast():
                logits = model(input_ids=part.ids, use_cache=False).logits.float()
            torch.autograd.backward(functional.cross_entropy(logits[part.selected], part.targets))
        drop()

    def responses_only() -> None:
        model = network.use("policy")
        for part in inputs:
            selected(model, part)
        drop()

    def selected(model: Any, part: Inputs) -> None:
        with network.autocast():
            found = forward(model, part, 1.0, with_entropy=False)
        torch.autograd.backward(-found.logprobs.mean())

    learn = (lambda: engine.learn(batch, 1), tokens)
    settings: dict[str, Any] = {"rounds": rounds, "device": device}
    hard = compare("update, bare: response logits", learn, (responses_only, tokens), least=LEAST_UPDATE, **settings)
    easy = compare("update, bare: all logits", learn, (every_position, tokens), least=LEAST_UPDATE, **settings)
    whole = (lambda: engine.update(rows, 1), tokens)
    return [hard, easy, compare("whole step", whole, (responses_only, tokens), least=None, **settings)]


def rollouts(engine: LocalEngine, folder: Path, count: int, rounds: int) -> list[Line]:
    """Sampling against transformers' own."""
    base, random = engine.network.base, np.random.default_rng(1)
    plain: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=base.dtype, attn_implementation="sdpa")
    adapter = LoraConfig(task_type=TaskType.CAUSAL_LM, r=16, lora_alpha=32, target_modules=MODULES)
    theirs = get_peft_model(plain.to(base.device), adapter).eval()
    vocabulary, new = len(engine.chat.tokenizer), 64
    lengths = random.integers(150, 350, count)
    free = [random.integers(100, vocabulary, length).tolist() for length in lengths]
    instruction = random.integers(100, vocabulary, 150).tolist()
    common = [[*instruction, *ids] for ids in free]
    limits = np.maximum(1, random.permutation(np.linspace(8, new, count)).astype(int)).tolist()
    lines = []
    for what, prompts, ends, least in (
        ("rollout, equal work", free, [new] * count, LEAST_ROLLOUT),
        ("rollout, common beginning, own ends", common, limits, None),
    ):
        ours = (ours_of(engine, prompts, ends), sum(ends))
        line = (theirs_of(theirs, prompts, new, base.device), sum(ends))
        lines.append(compare(what, ours, line, rounds=rounds, device=base.device, least=least))
    return lines


def ours_of(engine: LocalEngine, prompts: Sequence[Sequence[int]], ends: Sequence[int]) -> Callable[[], object]:
    """Sampling as the engine does it, without an end token, so that the work is known."""
    requests = [Request(ids, end, seed=place) for place, (ids, end) in enumerate(zip(prompts, ends, strict=True))]
    sampling = Sampling(temperature=1.0, top_p=1.0)
    budget = engine.settings.rollout.batch_tokens

    def work() -> None:
        model = engine.network.use("policy")
        generate(model, requests, sampling=sampling, stop_ids=frozenset(), batch_tokens=budget)

    return work


def theirs_of(model: Any, prompts: Sequence[Sequence[int]], new: int, device: torch.device) -> Callable[[], object]:
    """transformers' `generate` over one left-padded batch."""
    width = max(map(len, prompts))
    ids = torch.tensor([[0] * (width - len(one)) + list(one) for one in prompts], device=device)
    mask = torch.tensor([[0] * (width - len(one)) + [1] * len(one) for one in prompts], device=device)
    settings: Any = GenerationConfig
    config = settings(do_sample=True, temperature=1.0, top_k=0, top_p=1.0, max_new_tokens=new, pad_token_id=0)

    def work() -> None:
        with torch.inference_mode():
            found = model.generate(input_ids=ids, attention_mask=mask, generation_config=config)
        if found.shape[1] != width + new:
            raise AssertionError("transformers has stopped early")

    return work


def table(lines: Sequence[Line], machine: str, command: str) -> str:
    """The result as Markdown."""
    head = "| | Faithline, tokens/s | transformers, tokens/s | ratio | required |\n|---|---:|---:|---:|---:|"
    body = [
        f"| {line.what} | {line.ours:,.0f} | {line.theirs:,.0f} | {line.ratio:.2f} "
        f"| {'' if line.least is None else f'≥ {line.least:.1f}'} |"
        for line in lines
    ]
    doc = (__doc__ or "").strip().split("\n\n")
    return "\n".join(
        [
            "# Speed of the PPO core",
            "",
            f"`{command}` on {machine}.",
            "",
            head,
            *body,
            "",
            doc[2],
            "",
            doc[3],
            "",
            doc[4],
            "",
        ]
    )


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("backbone", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--questions", type=int, default=8, help="half of the rows of an update; prompts of a rollout")
    parser.add_argument("--write", type=Path, help="Markdown file for the table")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    settings = msgspec.convert(SETTINGS, Ppo)
    engine = LocalEngine(arguments.backbone, settings, roles=("solver", "checker"), init={}, seed=1)
    lines = updates(engine, arguments.questions, arguments.rounds)
    lines += rollouts(engine, arguments.backbone, arguments.questions, arguments.rounds)
    device, dtype = engine.network.base.device, str(engine.network.base.dtype).removeprefix("torch.")
    machine = torch.cuda.get_device_name() if device.type == "cuda" else "one CPU thread"
    options = f"--rounds {arguments.rounds} --questions {arguments.questions}"
    command = f"python -m benchmarks.ppo_throughput {arguments.backbone} {options}"
    text = table(lines, f"{machine}, {dtype}, {arguments.questions} questions", command)
    print(text)
    if arguments.write is not None:
        arguments.write.write_text(text, encoding="utf-8")
    return 0 if all(line.least is None or line.ratio >= line.least for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())

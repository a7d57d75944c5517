"""The warm start of one adapter, from data to an adapter folder.

Reads its roles' examples, puts a fresh LoRA adapter on the frozen backbone, lets the Trainer train it, and writes what
PEFT and vLLM load as it is. The adapter's bytes are a function of data, backbone, settings and seed on a given machine,
whatever other adapters are trained beside it.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import transformers
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import TrainingArguments

from components.warm_start.callbacks import Best, Curve, Reporter
from components.warm_start.example_sets import ExampleSet, joined, taken
from components.warm_start.examples import answers
from components.warm_start.health import require_finite_weights
from components.warm_start.loss import collate
from components.warm_start.params import Adapter, DocumentRows, Lora, Rows, WarmStart
from components.warm_start.roles import role_examples
from components.warm_start.trainer import AnswerTrainer, summarise
from faithline.lm import backbone
from faithline.lm.chat import Chat
from faithline.lm.lora import make_portable, shape
from faithline.training_sets.schema import Role, TrainingSplit

__all__ = [
    "Examples",
    "Result",
    "add_adapter",
    "read_examples",
    "summary",
    "train",
    "write_adapter",
    "write_curves",
]

_CURVE = ("step", "loss", "learning_rate", "eval_loss", "eval_exact")


@dataclass(frozen=True)
class Examples:
    """What is learned from and what it is measured on."""

    train: ExampleSet
    validation: ExampleSet


@dataclass(frozen=True)
class Result:
    """A finished training."""

    model: PeftModel
    """With the adapter that `keep` asks for."""
    curve: dict[int, dict[str, float]]
    """By optimiser step; step 0 is the backbone alone."""
    kept_step: int
    """Step of the adapter in `model`."""


def read_examples(prepared: Path, sft: Path, settings: Adapter, seed: int, chat: Chat) -> Examples:
    """Tokenise both splits of all roles of an adapter.

    Args:
        prepared: data/prepared, which the role `answer` learns from.
        sft: data/training/sft, which all others learn from.
        settings: Of the adapter.
        seed: Decides the questions and contexts of the role `answer`.
        chat: The backbone's chat template.

    Raises:
        DataInvalid: A role has nothing to learn from.
    """
    length = settings.max_length

    def part(role: str, rows: Rows, split: TrainingSplit) -> ExampleSet:
        if role == "answer" and isinstance(rows, DocumentRows):
            where = prepared
            found = answers(prepared, split, rows, max_length=length, seed=seed, chat=chat)
        else:
            where = sft
            found = role_examples(sft, cast("Role", role), split, rows, max_length=length, chat=chat)
        return taken(found, getattr(rows, split), role=role, split=split, where=str(where))

    def whole(split: TrainingSplit) -> ExampleSet:
        return joined([part(role, rows, split) for role, rows in settings.roles.named().items()])

    return Examples(train=whole("train"), validation=whole("validation"))


def add_adapter(model: transformers.PreTrainedModel, settings: Lora, seed: int) -> PeftModel:
    """Put a fresh adapter on a backbone, drawn by seed, and freeze the rest.

    Raises:
        ConfigError: The backbone has no layer of a name in `target_modules`.
    """
    config = shape(
        model,
        rank=settings.rank,
        alpha=settings.alpha,
        dropout=settings.dropout,
        target_modules=settings.target_modules,
        where="params.yaml: warm_start.lora.target_modules",
    )
    transformers.set_seed(seed)
    return get_peft_model(model, config)


def train(
    base: backbone.Backbone, examples: Examples, settings: WarmStart, seed: int, advance: Callable[[int], None]
) -> Result:
    """Train an adapter.

    Args:
        base: The backbone; it is changed in place.
        examples: From `read_examples`.
        settings: The stage's section.
        seed: Decides initial weights, order and dropout.
        advance: Told after each optimiser step how many more tokens, padding aside, were trained on.

    Raises:
        Diverged: A loss, gradient or weight is not finite.
    """
    model = add_adapter(base.model, settings.lora, seed)
    curve, best = Curve(), Best(model)
    with tempfile.TemporaryDirectory() as scratch:
        trainer = AnswerTrainer(
            model=model,
            args=_arguments(settings, base, seed, Path(scratch)),
            data_collator=collate,
            train_dataset=examples.train.rows,
            eval_dataset=examples.validation.rows,
            compute_metrics=summarise,
            callbacks=[curve, best, Reporter(advance)],
        )
        trainer.remove_callback(transformers.PrinterCallback)
        trainer.evaluate()
        trainer.train()
        last = trainer.state.global_step
        if "eval_loss" not in curve.rows.get(last, {}):
            trainer.evaluate()
    require_finite_weights(model)
    if settings.keep == "best":
        best.restore()
    return Result(model=model, curve=curve.rows, kept_step=best.step if settings.keep == "best" else last)


def _arguments(settings: WarmStart, base: backbone.Backbone, seed: int, scratch: Path) -> TrainingArguments:
    chosen = settings.optimisation
    arguments = TrainingArguments(
        output_dir=str(scratch),
        seed=seed,
        data_seed=seed,
        use_cpu=base.device.type == "cpu",
        learning_rate=chosen.learning_rate,
        lr_scheduler_type=chosen.scheduler,
        warmup_steps=chosen.warmup_ratio,
        weight_decay=chosen.weight_decay,
        max_grad_norm=chosen.max_grad_norm,
        num_train_epochs=chosen.epochs,
        per_device_train_batch_size=chosen.batch_size,
        per_device_eval_batch_size=chosen.batch_size,
        gradient_accumulation_steps=chosen.accumulation,
        gradient_checkpointing=chosen.gradient_checkpointing,
        gradient_checkpointing_kwargs={"use_reentrant": False},
        train_sampling_strategy="group_by_length",
        logging_strategy="steps",
        logging_steps=settings.log_every,
        logging_nan_inf_filter=False,
        include_num_input_tokens_seen="non_padding",
        eval_strategy="steps",
        eval_steps=settings.eval_every,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
    )
    # One model on one device: with several GPUs in sight the Trainer would split each batch over all of them
    # (DataParallel), and the output layer's selection of positions would not be split along.
    if arguments.n_gpu > 1:
        arguments._n_gpu = 1
    return arguments


def summary(result: Result, examples: Examples) -> dict[str, float | int]:
    """Metrics of a training: losses per learned token, and what was learned from."""
    before, kept = result.curve[0], result.curve[result.kept_step]
    last_loss = [row["loss"] for _, row in sorted(result.curve.items()) if "loss" in row][-1]
    return {
        "train_loss": last_loss,
        "eval_loss_before": before["eval_loss"],
        "eval_loss": kept["eval_loss"],
        "eval_exact_before": before["eval_exact"],
        "eval_exact": kept["eval_exact"],
        "kept_step": result.kept_step,
        "steps": max(result.curve),
        "examples": len(examples.train.rows),
        "examples_skipped": sum(examples.train.skipped.values()),
        "examples_validation": len(examples.validation.rows),
        "tokens": examples.train.tokens,
        "tokens_learned": examples.train.learned,
    }


def write_adapter(model: PeftModel, folder: Path, base_name: str) -> None:
    """Write an adapter as a PEFT folder, the same bytes for the same adapter.

    Args:
        model: A model with a trained adapter.
        folder: Existing folder.
        base_name: How the adapter names its backbone: no path of this machine.
    """
    config = model.active_peft_config
    if not isinstance(config, LoraConfig) or config.target_modules is None:
        raise TypeError(f"not a LoRA adapter: {type(config).__name__}")
    make_portable(config, base_name)
    model.save_pretrained(str(folder), safe_serialization=True, save_embedding_layers=False)
    (folder / "README.md").unlink(missing_ok=True)  # PEFT's empty model card


def write_curves(curves: Mapping[str, dict[int, dict[str, float]]], path: Path) -> None:
    """Write the training curves side by side as CSV, by optimiser step; a cell is empty where nothing was measured.

    The first adapter's columns have plain names, those of the others start with `<adapter>/`.
    """
    first = next(iter(curves))
    rows: dict[int, dict[str, float]] = {}
    for name, curve in curves.items():
        for step, row in curve.items():
            named = {column if name == first else f"{name}/{column}": value for column, value in row.items()}
            rows.setdefault(step, {"step": step}).update(named)
    columns = [*_CURVE, *(f"{name}/{column}" for name in curves if name != first for column in _CURVE[1:])]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(row for _, row in sorted(rows.items()))

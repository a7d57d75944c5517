"""A project that ran as far as train_march: a few questions, rows for canaries, a random model and its warm start."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SETTINGS: dict[str, Any] = {
    "data": {"domains": ["general"], "questions": "all", "train": 4, "validation": 2},
    "reward": {"canaries": {"items": 3, "rollout": "skip"}},
    "max_new_tokens": {"solver": 6, "proposer": 5, "checker": 4},
    "greedy_roles": ["proposer"],
    "ppo": {
        "device": "cpu",
        "dtype": "float32",
        "steps": 3,
        "selection": {"every": 2},
        "batch_questions": 2,
        "rollout": {"temperature": 1.0, "max_prompt_tokens": 900, "max_new_tokens": 6},
        "checkpoints": {"every": 1},
        "lora": {"rank": 2, "alpha": 4, "target_modules": ["q_proj", "v_proj"]},
        "health": {"max_degenerate": 1.0, "max_kl": 1000.0},
    },
}


def documents(number: int) -> list[dict[str, str]]:
    text = f"It has {number + 1000} inhabitants."
    return [{"document_id": f"s/{number}", "title": f"Town {chr(97 + number)}", "text": text}]


def march_row(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "question_id": f"s/{number}",
        "set": "s",
        "order": 100 - number,
        "query": f"How many people live in town {chr(97 + number)}?",
        "documents": documents(number),
        **fields,
    }


def checker_row(number: int) -> dict[str, Any]:
    question = f"How many people live in town {chr(97 + number)}?"
    pair = {"question": question, "answer": f"{number + 1000}", "evidence": "It."}
    shared = {"question_id": f"s/{number}", "set": "s", "order": 100 - number, "documents": documents(number)}
    target = f"1. Evidence: It. [Answer: {number + 1000}]"
    return {"role": "checker", "question": "", "response": "", "pairs": [pair], "target": target, **shared}


@pytest.fixture(scope="session")
def write_training() -> Callable[..., None]:
    """Write data/training/march (general only) and the Checker's rows of data/training/sft."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from faithline.training_sets.schema import DOMAINS, MARCH, SFT, TRAINING_SPLITS, march_file, sft_file

    def write(folder: Path, train: list[dict[str, Any]], validation: list[dict[str, Any]]) -> None:
        for domain in DOMAINS:
            for split in TRAINING_SPLITS:
                rows = {"train": train, "validation": validation}[split] if domain == "general" else []
                path = folder / "march" / march_file(domain, split)
                path.parent.mkdir(parents=True, exist_ok=True)
                pq.write_table(pa.Table.from_pylist(rows, schema=MARCH), path)
        path = folder / "sft" / sft_file("checker", "train")
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist([checker_row(number) for number in range(4)], schema=SFT), path)

    return write


@pytest.fixture(scope="session")
def warm_adapter(tiny_backbone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random LoRA adapter on the tiny backbone, as warm_start writes it."""
    import peft
    import torch
    from transformers import AutoModelForCausalLM

    from faithline.lm import backbone

    folder = tmp_path_factory.mktemp("warm") / "march"
    config = peft.LoraConfig(task_type="CAUSAL_LM", r=2, lora_alpha=4, target_modules=["q_proj", "v_proj"])
    torch.manual_seed(3)
    model = peft.get_peft_model(AutoModelForCausalLM.from_pretrained(tiny_backbone), config)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.05)
    model.save_pretrained(str(folder))
    backbone.write_base(folder, tiny_backbone)
    return folder


@pytest.fixture
def project(make_project: Any, write_training: Any, warm_adapter: Path, tiny_backbone: Path) -> Path:
    """Six training and three held-out questions."""
    root: Path = make_project({"seed": 5, "march": SETTINGS}, tiny=False)
    rows = [march_row(number) for number in range(9)]
    write_training(root / "data/training", rows[:6], rows[6:])
    (root / "models/warm_start").mkdir(parents=True)
    (root / "models/backbone").symlink_to(tiny_backbone)
    (root / "models/warm_start/march").symlink_to(warm_adapter)
    return root


@pytest.fixture(scope="session")
def row() -> Callable[..., dict[str, Any]]:
    """A row of data/training/march."""
    return march_row

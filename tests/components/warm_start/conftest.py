"""Settings, prepared questions and token rows that the tests of warm_start share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

SECTION: dict[str, Any] = {
    "device": "cpu",
    "dtype": "float32",
    "examples": {"sets": None, "train": 8, "validation": 4, "distractors": 1, "max_length": 400},
    "lora": {"rank": 2, "alpha": 4, "dropout": 0.1, "target_modules": ["v_proj", "q_proj", "down_proj"]},
    "optimisation": {
        "learning_rate": 0.01,
        "scheduler": "cosine",
        "warmup_ratio": 0.1,
        "weight_decay": 0.0,
        "max_grad_norm": 1.0,
        "epochs": 2.0,
        "batch_size": 2,
        "accumulation": 1,
        "gradient_checkpointing": False,
    },
    "log_every": 1,
    "eval_every": 2,
    "keep": "best",
}

DOCUMENTS = [
    {"document_id": f"s/{name}", "set": "s", "title": f"Title {name}", "text": text}
    for name, text in {
        "g1": "Gold one.", "g2": "Gold two. **answer 3**", "d1": "Other one.", "d2": "Other two.", "d3": "Third.",
        "blank": " ",
    }.items()
]  # fmt: skip


@pytest.fixture(scope="session")
def section() -> dict[str, Any]:
    """The section `warm_start` of params.yaml in the tests."""
    return SECTION


@pytest.fixture(scope="session")
def settings_with() -> Callable[..., Any]:
    """Typed settings: the section with changes, merged one level deep."""
    from components.warm_start.params import WarmStart

    def make(**changes: Any) -> WarmStart:
        merged = {
            key: value | changes.get(key, {}) if isinstance(value, dict) else changes.get(key, value)
            for key, value in SECTION.items()
        }
        return msgspec.convert(merged, WarmStart)

    return make


@pytest.fixture(scope="session")
def question() -> Callable[..., dict[str, Any]]:
    """A row of the table questions with two gold passages and three distractors."""

    def make(number: int, split: str = "train", **fields: Any) -> dict[str, Any]:
        return {
            "question_id": f"s/{number}",
            "set": "s",
            "split": split,
            "question": f"What is number {number}?",
            "answers": [f"answer {number}", "alias"],
            "answerable": True,
            "question_type": "",
            "hops": None,
            "documents": ["s/g1", "s/d1", "s/g2", "s/d2", "s/d3"],
            "supporting": [True, False, True, False, False],
            "plan": [],
            **fields,
        }

    return make


@pytest.fixture
def prepare(write_prepared: Callable[..., None]) -> Callable[[Path, Sequence[dict[str, Any]]], Path]:
    """Write questions and the five documents they point at, and a blank one."""

    def write(folder: Path, questions: Sequence[dict[str, Any]]) -> Path:
        write_prepared(folder, list(questions), DOCUMENTS)
        return folder

    return write


@pytest.fixture(scope="session")
def rows_of() -> Callable[..., list[dict[str, list[int]]]]:
    """Random token rows of given lengths, of which the last few tokens are learned."""
    import numpy as np

    from components.warm_start.examples import IGNORED

    def make(lengths: Sequence[int], learned: Sequence[int], seed: int = 0) -> list[dict[str, list[int]]]:
        random = np.random.default_rng(seed)
        rows = []
        for length, count in zip(lengths, learned, strict=True):
            ids = random.integers(5, 250, length).tolist()
            rows.append({"input_ids": ids, "labels": [IGNORED] * (length - count) + ids[length - count :]})
        return rows

    return make


@pytest.fixture(scope="session")
def chat(tiny_backbone: Path) -> Any:
    """The chat template of the tiny backbone."""
    from faithline.lm import backbone
    from faithline.lm.chat import Chat

    return Chat(backbone.load_tokenizer(tiny_backbone))

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
    "adapters": {
        "answer": {
            "roles": {"answer": {"sets": None, "train": 8, "validation": 4, "distractors": 1}},
            "max_length": 400,
        }
    },
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

ROLES: dict[str, Any] = {
    "solver": {"sets": None, "train": 3, "validation": 1, "distractors": 1},
    "proposer": {"sets": None, "train": 3, "validation": 1, "sees_query": True, "min_pairs": 1, "max_pairs": 4},
    "checker": {"sets": None, "train": 3, "validation": 1, "distractors": 0},
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
def roles_section() -> dict[str, Any]:
    """The roles of an adapter for MARCH."""
    return ROLES


@pytest.fixture(scope="session")
def sft_row() -> Callable[..., dict[str, Any]]:
    """A row of data/training/sft: the documents g and d, of which the completion quotes g."""

    def make(role: str, number: int, **fields: Any) -> dict[str, Any]:
        quote = f"Town {number} has {number + 100} inhabitants."
        pair = {"question": f"How many inhabitants does town {number} have?", "answer": str(number + 100)}
        targets = {
            "solver": quote,
            "proposer": f"- Question: {pair['question']} [Answer: {pair['answer']}]",
            "checker": f"1. Evidence: {quote} [Answer: {pair['answer']}]",
        }
        documents = [
            {"document_id": "s/d", "title": "Other", "text": "Nothing to see here. It is dull."},
            {"document_id": "s/g", "title": f"Town {number}", "text": f"It is a town. {quote}"},
        ]
        return {
            "role": role,
            "question_id": f"s/{number}",
            "set": "s",
            "order": 1000 - number,
            "question": "" if role == "checker" else f"How big is town {number}?",
            "documents": [] if role == "proposer" else documents,
            "response": quote if role == "proposer" else "",
            "pairs": [] if role == "solver" else [pair | {"evidence": quote if role == "checker" else ""}],
            "target": targets[role],
            **fields,
        }

    return make


@pytest.fixture(scope="session")
def write_sft(sft_row: Any) -> Callable[..., Path]:
    """Write data/training/sft of MARCH's roles: five training rows and two validation rows each."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from faithline.training_sets.schema import SFT, sft_file

    def write(folder: Path, rows: Callable[[str, str], list[dict[str, Any]]] | None = None) -> Path:
        for role in ROLES:
            for split, numbers in (("train", range(5)), ("validation", range(5, 7))):
                own = [sft_row(role, number) for number in numbers] if rows is None else rows(role, split)
                path = folder / sft_file(role, split)  # type: ignore[arg-type]
                path.parent.mkdir(parents=True, exist_ok=True)
                pq.write_table(pa.Table.from_pylist(own, schema=SFT), path)
        return folder

    return write


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

    from components.warm_start.example_sets import IGNORED

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

"""Settings of the gate, and items tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from benchmarks.promotion_power import settings as simulated_settings
from faithline.promotion.settings import Promote


@pytest.fixture
def gate() -> Promote:
    """The gate of the simulations with fewer items required."""
    return msgspec.structs.replace(simulated_settings(), min_items=20)


@pytest.fixture
def items_table() -> Callable[..., pa.Table]:
    """Make an items table as the stage `evaluate` writes it; columns may be given."""

    def make(n: int = 40, **columns: list[Any]) -> pa.Table:
        base: dict[str, list[Any]] = {
            "question_id": [f"hop/q{number:03d}" for number in range(n)],
            "question": [f"What is {number}?" for number in range(n)],
            "answers": [[str(number)] for number in range(n)],
            "answerable": [True] * n,
            "set": ["hop"] * n,
            "hops": [2] * n,
            "question_type": ["bridge"] * n,
            "answer_type": ["number"] * n,
            "noise_level": ["51-80%"] * n,
            "outcome": ["ok"] * n,
            "f1_official": [1.0] * n,
            "f1_strict": [1.0] * n,
            "hallucinated": [0.0] * n,
        }
        return pa.table(base | columns)

    return make

"""Settings of the gate, items tables, and an S3 server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from benchmarks.promotion_power import settings as simulated_settings
from benchmarks.store_servers import KEYS, client, s3_server
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


@pytest.fixture(scope="session")
def s3_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with s3_server("moto", tmp_path_factory.mktemp("moto")) as port:
        yield port


@pytest.fixture
def bucket(s3_port: int, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A bucket of the test's own, with the environment that reaches it."""
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{s3_port}"}.items():
        monkeypatch.setenv(name, value)
    name = f"b{abs(hash(request.node.nodeid)):x}"
    client(s3_port).create_bucket(Bucket=name)
    return name

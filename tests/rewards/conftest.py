"""Settings of MARCH's reward for the tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from faithline.pipeline.params import convert
from faithline.rewards.settings import MarchReward

PLAIN: dict[str, Any] = {
    "comparator": "canonical",
    "parser": "strict",
    "proposer_sees_query": True,
    "min_pairs": 1,
    "max_pairs": 10,
    "below_min": "score",
    "checker_votes": 3,
    "outcome": "ztr",
    "scale": "minus_one_zero",
    "empty_reward": 0.0,
    "terms": {"reward_model": 0.0, "solver_format": 0.0, "checker_format": 0.0},
    "canaries": {"items": 4, "margin": 0.05, "rollout": "refuse"},
}


class Make:
    """Settings with some keys changed; keys of `terms` and `canaries` are given plainly."""

    def raw(self, **changed: Any) -> dict[str, Any]:
        raw = {**PLAIN, "terms": {**PLAIN["terms"]}, "canaries": {**PLAIN["canaries"]}}
        for key, value in changed.items():
            owner = next((raw[part] for part in ("terms", "canaries") if key in raw[part]), raw)
            owner[key] = value
        return raw

    def __call__(self, **changed: Any) -> MarchReward:
        return convert(self.raw(**changed), MarchReward, Path("params.yaml"))


@pytest.fixture(scope="session")
def make() -> Make:
    return Make()


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the settings in its params.yaml, and other sections that do not matter here."""
    folder = tmp_path_factory.mktemp("project")
    text = msgspec.json.encode({"seed": 1, "march": {"reward": PLAIN, "ppo": {"steps": 3}}})
    (folder / "params.yaml").write_bytes(text)
    return folder

"""Settings that mean nothing are refused where they are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from faithline.rl.settings import Ppo


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ({"tuning": "full", "adapters": "per_role"}, "per_role needs tuning: lora"),
        ({"trained_roles": ["actor", "actor"]}, "names a role twice"),
        ({"trained_roles": []}, "length >= 1"),
        ({"critic": {"only_steps": 6}}, "no step that trains the policy"),
        ({"critic": {"warmup_steps": 7}}, "longer than the training"),
        ({"critic": {"model": "separate"}}, "needs train_features"),
        ({"kl": {"estimator": "k1"}}, "expected gradient of zero"),
        ({"kl": {"controller": "adaptive", "floor": 0.1}}, "below its floor"),
        ({"clip": {"dual": 1.0}}, "> 1.0"),
        ({"gamma": 0.0}, "> 0.0"),
        ({"checkpoints": {"keep": 1}}, ">= 2"),
        ({"selection": {"every": 0}}, ">= 1"),
        ({"rollout": {"surprise": 1}}, "unknown field"),
    ],
)
def test_settings_are_checked(ppo: Callable[..., Ppo], patch: dict[str, Any], why: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=why):
        ppo(**patch)

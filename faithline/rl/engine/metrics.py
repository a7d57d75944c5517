"""What a training step was like: metrics of its rows before the update.

Means over rows, of reward, divergence and response length, are given for all rows and per role (`reward/solver`).
`kl` is the divergence from the reference per row, summed over its tokens; `entropy` is per token. `sampling_gap` is the
largest difference between a sampler's log-probability and the training pass's: of the same weights, so mere numerics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from faithline.rl.engine.learner import Batch
from faithline.rl.row import Row
from faithline.rl.rows import group_by, pad

if TYPE_CHECKING:
    from faithline.rl.engine.local import Scores

__all__ = ["describe", "explained_variance"]


def describe(rows: Sequence[Row], scores: Scores, batch: Batch) -> dict[str, float]:
    """Metrics of the rows of a step."""
    lengths = batch.mask.sum(dim=1)
    per_row = {
        "reward": torch.tensor([row.reward for row in rows], dtype=torch.float32),
        "kl": batch.kl.sum(dim=1),
        "response_tokens": lengths.float(),
        "entropy": (scores.entropy * batch.mask).sum(dim=1),
    }
    found = _means(per_row, lengths, "")
    for role, indices in group_by([row.role for row in rows]).items():
        found |= _means({name: values[indices] for name, values in per_row.items()}, lengths[indices], f"/{role}")
    return found | {
        "rows": float(len(rows)),
        "tokens": float(sum(row.length for row in rows)),
        "reward_deviation": float(per_row["reward"].std(correction=0)),
        "value_mean": float(scores.values[batch.mask].mean()),
        "explained_variance": explained_variance(scores.values[batch.mask], batch.returns[batch.mask]),
        **_gap(rows, scores, batch.mask),
    }


def _means(per_row: dict[str, Tensor], lengths: Tensor, suffix: str) -> dict[str, float]:
    found = {f"{name}{suffix}": float(values.mean()) for name, values in per_row.items()}
    found[f"entropy{suffix}"] = float(per_row["entropy"].sum() / lengths.sum())
    return found


def explained_variance(predicted: Tensor, returns: Tensor) -> float:
    """Share of the returns' variance that predictions explain: 1 is perfect, 0 no better than their mean."""
    total = float(returns.var(correction=0))
    return 1.0 - float((returns - predicted).var(correction=0)) / total if total > 0 else 0.0


def _gap(rows: Sequence[Row], scores: Scores, mask: Tensor) -> dict[str, float]:
    known = [index for index, row in enumerate(rows) if row.sampled_logprobs is not None]
    if not known:
        return {}
    own = mask[known]
    sampled = pad([rows[index].sampled_logprobs or () for index in known], own)
    # A difference of nearly equal numbers: what is below a thousandth is the last bits of both.
    return {"sampling_gap": round(float(((scores.old[known] - sampled) * own).abs().max()), 3)}

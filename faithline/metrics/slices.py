"""Metrics per slice: which items, how many, and each metric's mean with its bootstrap interval.

A slice is a conjunction of label values, e.g. {"set": "hotpotqa", "hops": "2"}; {} is everything. A metric is a column
with NaN where it does not apply; in a slice its mean is over the items where it does, and it is left out where it
applies to none. Draws are seeded by the slice's own name, so a slice's interval does not depend on what other slices
exist.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from faithline.metrics.bootstrap import Floats, mean_interval
from faithline.metrics.normalise import Normalisation

__all__ = ["Bootstrap", "Estimate", "Evaluation", "Slice", "cross", "estimate"]

DIGITS = 6
"""Decimals kept: the last bits of a sum depend on the processor, and files must not."""

Labels = Mapping[str, Sequence[str]]


class Bootstrap(msgspec.Struct, frozen=True):
    """How intervals are made."""

    samples: int
    confidence: float
    seed: int


class Estimate(msgspec.Struct, frozen=True):
    """A mean over n items and its interval."""

    n: int
    mean: float
    lo: float
    hi: float


class Slice(msgspec.Struct, frozen=True):
    """Metrics of the items that satisfy a condition."""

    where: dict[str, str]
    """Label → value; empty = all items."""
    n: int
    """Items, whether or not a metric applies to them."""
    metrics: dict[str, Estimate]


class Evaluation(msgspec.Struct, frozen=True):
    """What `data/evaluation/slices.json` holds."""

    normalisation: Normalisation
    """The rule behind `em`, `f1`, `accuracy` and `recall`."""
    bootstrap: Bootstrap
    slices: list[Slice]


def cross(labels: Labels, within: str, by: Iterable[str]) -> list[dict[str, str]]:
    """List the slices of a report: everything, each value of `within`, and both of these split by each label in `by`.

    A label that is "" is unknown and makes no slice; a label with one known value in a scope makes none there, for it
    would repeat the scope.

    Args:
        labels: Label name → value per item.
        within: The label to report apart, e.g. "set".
        by: Labels to split by, one at a time.
    """
    scopes: list[dict[str, str]] = [{}, *({within: value} for value in _values(labels[within]))]
    found = list(scopes)
    for name in by:
        for scope in scopes:
            inside = np.asarray(labels[name])[_members(labels, scope)]
            values = _values(inside)
            if len(values) > 1 or "" in inside:
                found += [{**scope, name: value} for value in values]
    return found


def estimate(metrics: Mapping[str, Floats], labels: Labels, where: Mapping[str, str], bootstrap: Bootstrap) -> Slice:
    """Estimate every metric on one slice.

    Args:
        metrics: Metric name → value per item, NaN where it does not apply.
        labels: Label name → value per item.
        where: The slice's condition.
        bootstrap: How intervals are made.
    """
    inside = _members(labels, where)
    found: dict[str, Estimate] = {}
    for name, column in metrics.items():
        values = np.asarray(column, dtype=np.float64)[inside]
        values = values[~np.isnan(values)]
        if values.size:
            rng = _generator(where, bootstrap.seed)
            interval = mean_interval(values, bootstrap.samples, bootstrap.confidence, rng)
            mean, lo, hi = (round(number, DIGITS) for number in interval)
            found[name] = Estimate(n=values.size, mean=mean, lo=lo, hi=hi)
    return Slice(dict(where), int(inside.sum()), found)


def _members(labels: Labels, where: Mapping[str, str]) -> npt.NDArray[np.bool_]:
    inside = np.ones(len(next(iter(labels.values()))), dtype=np.bool_)
    for name, value in where.items():
        inside &= np.asarray(labels[name]) == value
    return inside


def _values(labels: Sequence[str] | npt.NDArray[np.str_]) -> list[str]:
    return sorted({str(label) for label in labels} - {""})


def _generator(where: Mapping[str, str], seed: int) -> np.random.Generator:
    name = "\0".join(f"{key}={where[key]}" for key in sorted(where))
    words = np.frombuffer(hashlib.sha256(name.encode()).digest(), dtype="<u4")
    return np.random.default_rng([seed, *words.tolist()])

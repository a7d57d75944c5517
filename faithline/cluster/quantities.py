"""Kubernetes quantities ("500m", "8Gi") as numbers."""

from __future__ import annotations

import re

__all__ = ["cores", "gibibytes", "number"]

_SUFFIXES = {
    "": 1.0,
    "m": 1e-3,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
    "Ki": 2.0**10,
    "Mi": 2.0**20,
    "Gi": 2.0**30,
    "Ti": 2.0**40,
    "Pi": 2.0**50,
}


def number(quantity: object) -> float:
    """Return a quantity's value.

    Raises:
        ValueError: If it is none.
    """
    match = re.fullmatch(r"([0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)([A-Za-z]*)", str(quantity))
    if match is None or match[2] not in _SUFFIXES:
        raise ValueError(f"{quantity!r} is no Kubernetes quantity")
    return float(match[1]) * _SUFFIXES[match[2]]


def cores(quantity: object) -> float:
    """Return a CPU quantity in cores."""
    return number(quantity)


def gibibytes(quantity: object) -> float:
    """Return a memory quantity in GiB."""
    return number(quantity) / 2**30

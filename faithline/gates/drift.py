"""Drift: how far the data are from the snapshot that was accepted last.

Per set and distribution the population stability index, PSI = sum over categories of (q - p) ln(q / p), where p are the
accepted shares and q the present ones, none below a floor. Two equal populations of n and m rows in k categories still
differ by chance: nm/(n+m) PSI is then about chi-squared with k - 1 degrees of freedom. A distribution counts as drifted
only when PSI exceeds both the limit and what chance explains, so small sets give no false alarms.

*Changed* means that the rows differ at all, in whatever order; *drifted* that they differ enough to look at. Both are
false for the same rows, and a set that is new is a change but no drift: there is nothing to compare it with.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from statistics import NormalDist

import msgspec

from faithline.gates.limits import DriftLimits
from faithline.gates.row_measures import ROWS
from faithline.gates.snapshot import SetSnapshot, Snapshot
from faithline.pipeline.errors import DataInvalid

__all__ = ["Drift", "chance_psi", "compare", "psi"]


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """What a scheduler reads."""

    changed: bool
    """The rows are not those that were accepted."""
    drifted: bool
    """They differ by more than the limits."""
    reasons: tuple[str, ...]
    """Why changed or drifted, a sentence each."""
    psi: dict[str, dict[str, float]]
    """Set to distribution to index, for every distribution that both snapshots have."""

    def require_accepted(self, limits: DriftLimits, *, where: str, next_step: str) -> None:
        """Stop the run if the data drifted and the limits say that this fails.

        Raises:
            DataInvalid: With the reasons.
        """
        if self.drifted and limits.action == "fail":
            what = "\n  - ".join(["the data drifted from the accepted snapshot", *self.reasons])
            raise DataInvalid(what, where=where, next_step=next_step)


def compare(accepted: Snapshot, present: Snapshot, limits: DriftLimits) -> Drift:
    """Compare the present data with those accepted last.

    Args:
        accepted: Without sets when nothing was accepted yet: changed, not drifted.
        present: Of the data at hand.
        limits: When a difference counts.
    """
    if not accepted.sets:
        return Drift(changed=True, drifted=False, reasons=("no snapshot was accepted yet",), psi={})
    changes = list(_changes(accepted, present))
    drifts = [f"set {name}: gone" for name in sorted(accepted.sets.keys() - present.sets.keys())]
    indices: dict[str, dict[str, float]] = {}
    comparable = accepted.vocabulary_buckets == present.vocabulary_buckets
    for name in sorted(accepted.sets.keys() & present.sets.keys()):
        before, now = accepted.sets[name], present.sets[name]
        if before.fingerprints == now.fingerprints:
            continue
        drifts += [f"set {name}: {reason}" for reason in _row_drifts(before, now, limits)]
        indices[name] = {}
        for key in sorted(before.distributions.keys() & now.distributions.keys()):
            if key.endswith(": words") and not comparable:
                continue
            p, q = before.distributions[key], now.distributions[key]
            indices[name][key] = index = psi(p, q, limits.share_floor)
            if index > limits.max_psi and index > chance_psi(p, q, limits.significance):
                drifts.append(f"set {name}: {key}: PSI {index:.3f}, limit {limits.max_psi:g}")
    return Drift(changed=bool(changes or drifts), drifted=bool(drifts), reasons=(*drifts, *changes), psi=indices)


def psi(before: Mapping[str, int], now: Mapping[str, int], share_floor: float) -> float:
    """Population stability index of two distributions over categories.

    Args:
        before: Category to count.
        now: Category to count; categories may differ.
        share_floor: Least share of a category, in (0, 1).

    Returns:
        0 for equal shares; 0 too if either has no rows.
    """
    n, m = sum(before.values()), sum(now.values())
    if not n or not m:
        return 0.0
    total = 0.0
    for category in sorted(before.keys() | now.keys()):
        p = max(before.get(category, 0) / n, share_floor)
        q = max(now.get(category, 0) / m, share_floor)
        total += (q - p) * math.log(q / p)
    return total


def chance_psi(before: Mapping[str, int], now: Mapping[str, int], significance: float) -> float:
    """Return the index that two samples of one population exceed with probability `significance`."""
    n, m = sum(before.values()), sum(now.values())
    freedom = len(before.keys() | now.keys()) - 1
    if freedom < 1 or not n or not m:
        return 0.0
    # Quantile of chi-squared by Wilson and Hilferty (1931): within 4 % for two categories, 1 % for more.
    spread = 2 / (9 * freedom)
    normal = NormalDist().inv_cdf(1 - significance)
    quantile = freedom * (1 - spread + normal * math.sqrt(spread)) ** 3
    return float(quantile * (1 / n + 1 / m))


def _changes(accepted: Snapshot, present: Snapshot) -> Iterator[str]:
    for name in sorted(present.sets):
        if name not in accepted.sets:
            yield f"set {name}: new"
        elif tables := _differing(accepted.sets[name], present.sets[name]):
            yield f"set {name}: other rows in {', '.join(tables)}"


def _differing(before: SetSnapshot, now: SetSnapshot) -> list[str]:
    tables = sorted(before.fingerprints.keys() | now.fingerprints.keys())
    return [table for table in tables if before.fingerprints.get(table) != now.fingerprints.get(table)]


def _row_drifts(before: SetSnapshot, now: SetSnapshot, limits: DriftLimits) -> Iterator[str]:
    least, most = limits.rows_ratio
    for table in sorted(before.rows):
        then, here = (rows.get(table, {}).get(ROWS, 0) for rows in (before.rows, now.rows))
        ratio = here / then if then else 1.0
        if not least <= ratio <= most:
            yield f"{table}: {here} rows after {then}, ratio {ratio:.3g}, limit {least:g} to {most:g}"

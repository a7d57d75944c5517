"""Running the gates: measure, judge, compare with the accepted snapshot.

Three rounds: first the layout, for nothing can be measured on a table that lacks a column; then, if it holds, the
values, that none is null where it must not be, and every set; a set's noise is measured only if the values hold.
Whatever the verdict, Data Docs and outcome are there to be written down before `require_passed` stops the run: a gate
that fails without saying why is of no use.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from faithline.gates.checks import Suite, layout_checks, set_checks, values_checks
from faithline.gates.docs import finish
from faithline.gates.drift import Drift, compare
from faithline.gates.limits import Gates, check_names, limits_of
from faithline.gates.noise_figures import FROM_NOISE, NoiseFigures, with_noise
from faithline.gates.outcome import Outcome
from faithline.gates.profile import Declared, TablesProfile, layout, measure
from faithline.gates.snapshot import Snapshot, read_snapshot, take_snapshot, write_snapshot
from faithline.pipeline.errors import DataInvalid

__all__ = ["LAYOUT", "SNAPSHOT", "VALUES", "GateResult", "accept_data", "check_data", "declared_in"]

SNAPSHOT = "data_snapshot.json"
"""The accepted snapshot, in the project folder."""

LAYOUT = "_layout"
VALUES = "_values"
"""Suites of the tables as a whole; no set can be called so."""


@dataclass(frozen=True)
class GateResult:
    """What the gates found."""

    outcome: Outcome
    snapshot: Snapshot | None
    """Of the data at hand; None if their layout is broken."""
    drift: Drift | None


class _Source(msgspec.Struct):
    """The part of an entry of sources.json that says what must be in the tables."""

    tables: dict[str, int]


def declared_in(prepared: Path) -> dict[str, dict[str, int]]:
    """Read from sources.json which sets `prepare_data` wrote, into which tables, and how many rows.

    Raises:
        DataInvalid: If the file is missing or broken.
    """
    path = prepared / "sources.json"
    try:
        sources = msgspec.json.decode(path.read_bytes(), type=dict[str, _Source])
    except (FileNotFoundError, msgspec.DecodeError) as error:
        raise DataInvalid(
            f"no list of the sets: {error}", where=str(path), next_step="run `dvc repro prepare_data`"
        ) from error
    return {
        name: {table: rows for table, rows in sorted(source.tables.items()) if rows} for name, source in sources.items()
    }


def check_data(
    prepared: Path,
    *,
    declared: Declared,
    noise: Callable[[], Mapping[str, NoiseFigures]],
    gates: Gates,
    accepted: Path,
    docs: Path,
) -> GateResult:
    """Judge prepared tables.

    Args:
        prepared: The folder `data/prepared`.
        declared: Set to table to the number of rows its reader kept; every other row is of an unknown set.
        noise: Measures set to noise figures; called only if layout and values hold.
        gates: Section `gates` of `params.yaml`.
        accepted: The accepted snapshot.
        docs: Where Data Docs go; replaced if there.

    Raises:
        ConfigError: If a limit is for a set that is not declared.
        DataInvalid: If a table or the accepted snapshot cannot be read. A shut gate does not raise: see
            `Outcome.require_passed` and `Drift.require_accepted`.
    """
    check_names(gates, declared)
    before = read_snapshot(accepted)
    found = layout(prepared)
    from faithline.gates.gx import Judge  # imports Great Expectations: 8 s

    shutil.rmtree(docs, ignore_errors=True)
    judge = Judge(docs)
    outcomes = judge.evaluate([Suite(LAYOUT, layout_checks(declared), found)])
    present = None
    if Outcome(suites=outcomes).passed:
        buckets = gates.drift.vocabulary_buckets
        measured = measure(prepared, declared, buckets)
        outcomes |= judge.evaluate([Suite(VALUES, values_checks(), measured.values)])
        figures = noise() if Outcome(suites=outcomes).passed else None
        outcomes |= judge.evaluate(_suites(measured, declared, figures, gates))
        present = take_snapshot(measured.sets, buckets)
    judge.render()
    finish(docs, outcomes)
    drift = compare(before, present, gates.drift) if present else None
    return GateResult(Outcome(suites=outcomes), present, drift)


def accept_data(prepared: Path, gates: Gates, accepted: Path) -> Drift:
    """Make the prepared tables the ones that later data are compared with; an explicit act of a person.

    Args:
        prepared: The folder `data/prepared`.
        gates: Section `gates` of `params.yaml`.
        accepted: The accepted snapshot; replaced.

    Returns:
        How the tables differed from what was accepted before.

    Raises:
        DataInvalid: If a table or the accepted snapshot cannot be read.
    """
    before, buckets = read_snapshot(accepted), gates.drift.vocabulary_buckets
    present = take_snapshot(measure(prepared, declared_in(prepared), buckets).sets, buckets)
    write_snapshot(accepted, present)
    return compare(before, present, gates.drift)


def _suites(
    measured: TablesProfile, declared: Declared, noise: Mapping[str, NoiseFigures] | None, gates: Gates
) -> list[Suite]:
    unknown = NoiseFigures(near_duplicates=None, leaked_exact=None, leaked_ngram=None)
    suites = []
    for name, tables in declared.items():
        profile, limits = measured.sets[name].profile, limits_of(gates, name)
        if noise is None:
            limits = msgspec.structs.replace(limits, **dict.fromkeys(FROM_NOISE))
        else:
            profile = with_noise(profile, tables, noise.get(name, unknown))
        suites.append(Suite(name, set_checks(limits, tables), profile))
    return suites

"""The snapshot: what the data were like when somebody accepted them.

Small enough to commit (counts and distributions, no data), the same whatever the order of the rows. The accepted one is
a file of the repository that starts without sets; accepting is an explicit act, never a side effect of a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from faithline.data.schema import SPLITS
from faithline.gates.profile import ID_COLUMNS, SetProfile
from faithline.gates.row_measures import ROWS, rows_in
from faithline.pipeline.errors import DataInvalid
from faithline.pipeline.records import write_json

__all__ = ["SetSnapshot", "Snapshot", "read_snapshot", "take_snapshot", "write_snapshot"]


class SetSnapshot(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One set."""

    fingerprints: dict[str, str]
    """Table to a digest of its rows, whatever their order."""
    rows: dict[str, dict[str, int]]
    """Table to "rows" and, where the table has splits, each split to the number of rows."""
    distributions: dict[str, dict[str, int]]
    """`table.column: measure` to category to count."""


class Snapshot(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All sets."""

    vocabulary_buckets: int
    sets: dict[str, SetSnapshot]


def take_snapshot(sets: Mapping[str, SetProfile], vocabulary_buckets: int) -> Snapshot:
    """Make the snapshot of measured sets."""
    return Snapshot(
        vocabulary_buckets=vocabulary_buckets,
        sets={
            name: SetSnapshot(
                fingerprints=dict(measured.fingerprints),
                rows={table: _rows(measured, table) for table in measured.fingerprints},
                distributions={key: dict(counts) for key, counts in measured.distributions.items()},
            )
            for name, measured in sets.items()
        },
    )


def read_snapshot(path: Path) -> Snapshot:
    """Read a snapshot.

    Raises:
        DataInvalid: If it is missing or not a snapshot.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=Snapshot)
    except FileNotFoundError:
        raise DataInvalid(
            "no accepted snapshot", where=str(path), next_step="restore the file from git, or accept the data anew"
        ) from None
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise DataInvalid(
            f"not a snapshot: {error}", where=str(path), next_step="restore the file from git, or accept the data anew"
        ) from error


def write_snapshot(path: Path, snapshot: Snapshot) -> None:
    """Write a snapshot by atomic rename."""
    staged = path.with_name(f".{path.name}.staging")
    write_json(staged, msgspec.to_builtins(snapshot))
    staged.replace(path)


def _rows(measured: SetProfile, table: str) -> dict[str, int]:
    counts = {}
    for column, name in ((ID_COLUMNS[table], ROWS), *(("split", rows_in(split)) for split in SPLITS)):
        found = measured.profile.get(f"{table}.{column}", {}).get(name)
        if found is not None and isinstance(found.value, (int, float)):
            counts[name] = int(found.value)
    return counts

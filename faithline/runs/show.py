"""How far a run is: one line per stage, from what the store has of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from faithline.pipeline.errors import ConfigError
from faithline.pipeline.graph import load_graph
from faithline.runs.fragments import read_fragments
from faithline.runs.layout import checked_run_id, lease_key
from faithline.runs.lease import read_holder
from faithline.runs.pin import read_run
from faithline.store.objects import Store

__all__ = ["show"]


def show(root: Path, store: Store, run_id: str) -> Iterator[str]:
    """Yield a line per stage: done, running, how its last attempt ended, or not started.

    Raises:
        ConfigError: If there is no such run.
    """
    if read_run(store, checked_run_id(run_id)) is None:
        raise ConfigError(f"there is no run {run_id}", where=store.url, next_step="check --store and the run id")
    graph = load_graph(root)
    done = read_fragments(store, run_id)
    width = max(map(len, graph.stages))
    for name in graph.order():
        yield f"{name:<{width}}  {_state(store, run_id, name, done=name in done)}"


def _state(store: Store, run_id: str, stage: str, *, done: bool) -> str:
    attempts = sorted(entry.key for entry in store.list(f"runs/{run_id}/{stage}/attempts/"))
    found = store.read(attempts[-1]) if attempts else None
    last = _record(found.content) if found else None
    if done:
        return f"done ({last['outcome']}, {last['spent']}, attempts: {len(attempts)})" if last else "done"
    holder = read_holder(store, lease_key(run_id, stage))
    if holder is not None and not holder.expired:
        return f"running on {holder.owner}, heard of {holder.age_s:.0f} s ago"
    if last:
        return f"ended with {last['exit_code']} after {last['spent']}, attempts: {len(attempts)}"
    return f"attempts: {len(attempts)}, the last one's record is damaged" if found else "not started"


def _record(content: bytes) -> dict[str, str] | None:
    """Return what is shown of an attempt, None if its record is damaged; it is for people only."""
    try:
        record = json.loads(content)
        spent = f"{sum(record['seconds'].values()):.0f} s"
        return {"outcome": str(record["outcome"]), "exit_code": str(record["exit_code"]), "spent": spent}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None

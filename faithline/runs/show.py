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
    last = json.loads(found.content) if found else {}
    spent = f"{sum(last['seconds'].values()):.0f} s" if last else ""
    if done:
        return f"done ({last['outcome']}, {spent}, attempts: {len(attempts)})" if last else "done"
    holder = read_holder(store, lease_key(run_id, stage))
    if holder is not None and not holder.expired:
        return f"running on {holder.owner}, heard of {holder.age_s:.0f} s ago"
    return f"ended with {last['exit_code']} after {spent}, attempts: {len(attempts)}" if last else "not started"

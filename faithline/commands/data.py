"""`faithline data`: work on the sources of the data sets and on what was prepared from them."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faithline.commands import Commands
    from faithline.data.remote import Locked

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Add the group."""
    data = commands.add_parser("data", help="work on the sources of the data sets")
    actions = data.add_subparsers(required=True, metavar="ACTION")
    lock = actions.add_parser("lock", help="fetch every remote source of params.yaml and write sources.lock.json")
    lock.set_defaults(command=_lock)
    accept = actions.add_parser("accept", help="take data/prepared as the data that later runs are compared with")
    accept.set_defaults(command=_accept)


def _lock(arguments: argparse.Namespace) -> None:
    from faithline.data.lock_command import lock_sources
    from faithline.data.remote import LOCK_FILE
    from faithline.pipeline.machine import cache_folder

    def report(uri: str, found: Locked, before: Locked | None) -> None:
        state = "new" if before is None else "unchanged" if before == found else "CHANGED"
        print(f"{state}  {found.sha256[:12]}  {found.bytes} bytes  {uri}", flush=True)

    files = lock_sources(arguments.root, cache_folder(os.environ, Path.home()), report)
    print(f"{LOCK_FILE}: {files} remote files" if files else f"params.yaml names no remote source; {LOCK_FILE} is kept")


def _accept(arguments: argparse.Namespace) -> None:
    from faithline.gates.gate import SNAPSHOT, accept_data
    from faithline.gates.limits import Gates
    from faithline.pipeline.params import load_section

    gates = load_section(arguments.root, "gates", Gates)
    drift = accept_data(arguments.root / "data/prepared", gates, arguments.root / SNAPSHOT)
    for reason in drift.reasons:
        print(f"  {reason}")
    print(f"{SNAPSHOT}: the data at hand are accepted; commit it" if drift.changed else f"{SNAPSHOT}: nothing changed")

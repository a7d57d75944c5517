"""A lease says which process works on a stage of a run, so that a second start waits instead of doing the work twice.

It is one object with a random token, written again and again while its holder lives. One that has not been written for
its lifetime, by the store's own clock, counts as released, so a killed holder blocks nobody for long. Servers that
honour conditional writes decide between rivals at once. Whether a server does is found out by asking it for a write
that it must refuse; where it does not (`rclone serve s3`), rivals write, wait, and the one whose token is still there
has won. A holder that stalls for longer than a lifetime can lose its lease; it stops when it sees a foreign token, and
what it may still write by then does no harm (see `faithline.runs`).
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from faithline.pipeline.errors import PipelineError, Preempted
from faithline.store.objects import ABSENT, Object, Store

__all__ = ["Lease", "read_holder"]

SETTLE_S = 1.0
"""How long rivals wait before they look who won, on servers without conditions."""
POLL_S = 1.0


@dataclass(frozen=True)
class Holder:
    """What a lease object says."""

    token: str
    owner: str
    """Host and process, for people."""
    ttl_s: float
    age_s: float
    version: str

    @property
    def expired(self) -> bool:
        """Whether it counts as released."""
        return self.age_s > self.ttl_s


def read_holder(store: Store, key: str) -> Holder | None:
    """Return who holds a lease, None if nobody does; an unreadable object counts as expired."""
    found = store.read(key)
    return None if found is None else _holder(found)


def _holder(found: Object) -> Holder:
    try:
        document = json.loads(found.content)
        return Holder(
            str(document["token"]), str(document["owner"]), float(document["ttl_s"]), found.age_s, found.version
        )
    except (ValueError, KeyError, TypeError):
        return Holder("", "unknown", 0.0, float("inf"), found.version)


class Lease:
    """One process's claim to one stage of one run; a thread renews it until `release`."""

    def __init__(self, store: Store, key: str, *, ttl_s: float, on_lost: Callable[[], None]) -> None:
        self.token = secrets.token_hex(8)
        self.lost = False
        self._store = store
        self._key = key
        self._ttl_s = ttl_s
        self._on_lost = on_lost
        self._owner = f"{socket.gethostname()}:{os.getpid()}"
        self._beats = 0
        self._held = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)

    def acquire(self, *, wait_s: float, done: Callable[[], bool]) -> bool:
        """Take the lease, waiting for a holder that lives.

        Args:
            wait_s: How long to wait at most.
            done: Asked while waiting; whether the work has been done by the holder meanwhile.

        Returns:
            Whether the lease was taken; False if `done` said so first.

        Raises:
            Preempted: If somebody else still holds it after `wait_s`.
        """
        deadline = time.monotonic() + wait_s
        while True:
            holder = read_holder(self._store, self._key)
            if holder is None or holder.expired or holder.token == self.token:
                if self._claim(holder):
                    self._held = True
                    self._thread.start()
                    return True
                continue
            if done():
                return False
            left = deadline - time.monotonic()
            if left <= 0:
                raise Preempted(
                    f"{holder.owner} runs this stage, heard of {holder.age_s:.0f} s ago",
                    where=f"{self._store.url}/{self._key}",
                    next_step="let it end, or run this again later",
                )
            time.sleep(min(POLL_S, left))

    def _claim(self, holder: Holder | None) -> bool:
        if holder is None or holder.token != self.token:
            expect = ABSENT if holder is None else holder.version
            if not self._store.write(self._key, self._content(), expect=expect):
                return False  # or the answer to a write that came through was lost: the next look shows our token
            if self._store.write(self._key, self._content(), expect=ABSENT):
                time.sleep(SETTLE_S)
        now = read_holder(self._store, self._key)
        return now is not None and now.token == self.token

    def release(self) -> None:
        """Stop renewing and remove the lease if it is still ours; a store out of reach leaves it to expire."""
        if not self._held:
            return
        self._held = False
        self._stop.set()
        self._thread.join(timeout=5)
        try:
            holder = read_holder(self._store, self._key)
            if holder is not None and holder.token == self.token:
                self._store.delete(self._key)
        except PipelineError:
            return

    def _renew(self) -> None:
        while not self._stop.wait(self._ttl_s / 4):
            try:
                holder = read_holder(self._store, self._key)
                if holder is not None and holder.token != self.token:
                    self.lost = True
                    self._on_lost()
                    return
                self._beats += 1
                self._store.write(self._key, self._content(), expect=holder.version if holder else ABSENT)
            except PipelineError:
                continue  # a store that is away for a while is no reason to throw a long training away

    def _content(self) -> bytes:
        document = {"token": self.token, "owner": self._owner, "ttl_s": self._ttl_s, "beats": self._beats}
        return json.dumps(document).encode()

"""One holder at a time, on servers with and without conditional writes."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from faithline.pipeline.errors import Preempted
from faithline.runs import lease as lease_module
from faithline.runs.lease import Lease, read_holder
from faithline.store.objects import FolderStore, Store

KEY = "runs/R/s/lease.json"


class Unconditional(FolderStore):
    """A server that ignores conditions, as `rclone serve s3` does."""

    def write(self, key: str, content: bytes, *, expect: str | None = None) -> bool:
        return super().write(key, content)


@pytest.fixture(params=[FolderStore, Unconditional])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr(lease_module, "SETTLE_S", 0.3)
    monkeypatch.setattr(lease_module, "POLL_S", 0.05)
    found: Store = request.param(tmp_path)
    return found


def lease(store: Store, ttl_s: float = 30, on_lost: threading.Event | None = None) -> Lease:
    return Lease(store, KEY, ttl_s=ttl_s, on_lost=on_lost.set if on_lost else pytest.fail)


def never() -> bool:
    return False


def test_of_many_rivals_one_wins(store: Store) -> None:
    won = []

    def rival() -> None:
        mine = lease(store)
        try:
            mine.acquire(wait_s=1, done=never)
            won.append(mine)
        except Preempted as error:
            assert "runs this stage" in str(error)

    threads = [threading.Thread(target=rival) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    won[0].release()
    assert read_holder(store, KEY) is None
    again = lease(store)
    assert again.acquire(wait_s=0, done=never)
    again.release()


def test_a_dead_holder_gives_way_and_a_living_one_does_not(store: Store) -> None:
    living = lease(store, ttl_s=0.8)
    living.acquire(wait_s=0, done=never)
    time.sleep(1.6)  # twice its lifetime: it is renewed
    with pytest.raises(Preempted):
        lease(store).acquire(wait_s=0, done=never)
    living.release()
    store.write(KEY, json.dumps({"token": "dead", "owner": "h:1", "ttl_s": 0.5}).encode())
    begin = time.monotonic()
    heir = lease(store)
    assert heir.acquire(wait_s=5, done=never)
    assert time.monotonic() - begin > 0.3
    heir.release()


def test_a_holder_that_lost_its_lease_is_told_and_leaves_the_others_alone(store: Store) -> None:
    told = threading.Event()
    mine = lease(store, ttl_s=0.4, on_lost=told)
    mine.acquire(wait_s=0, done=never)
    store.write(KEY, json.dumps({"token": "other", "owner": "h:2", "ttl_s": 99}).encode())
    assert told.wait(5)
    assert mine.lost
    mine.release()
    holder = read_holder(store, KEY)
    assert holder is not None
    assert holder.token == "other"


def test_waiting_ends_when_the_work_is_done(store: Store) -> None:
    store.write(KEY, json.dumps({"token": "other", "owner": "h:2", "ttl_s": 99}).encode())
    assert not lease(store).acquire(wait_s=60, done=lambda: True)


def test_an_unreadable_lease_counts_as_released(store: Store) -> None:
    store.write(KEY, b"\xff{")
    mine = lease(store)
    assert mine.acquire(wait_s=0, done=never)
    mine.release()

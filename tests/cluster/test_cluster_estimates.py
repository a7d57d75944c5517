from __future__ import annotations

import json
from pathlib import Path

import pytest

from faithline.cluster.estimates import Range, durations, usage
from faithline.cluster.resources import Resources
from faithline.cluster.settings import Gpu, Pool

GPU_POOL = Pool(
    labels={},
    taints=[],
    gpu=Gpu(type="H100", resource="nvidia.com/gpu", memory_gib=80, per_node=8),
    cpu=100,
    memory_gib=1000,
    price_per_hour=40.0,
)
CPU_POOL = Pool(labels={}, taints=[], gpu=None, cpu=8, memory_gib=32, price_per_hour=0.8)


def wanted(**changed: object) -> Resources:
    base: dict[str, object] = {"world": "gpu", "pool": "p", "cpu": 1, "memory_gib": 8, "timeout_s": 3600, "retries": 0}
    return Resources(**(base | changed))  # type: ignore[arg-type]


def test_share_of_a_node_is_the_largest_of_cores_memory_and_gpus() -> None:
    # 2 nodes x 2 of 8 GPUs x 40 an hour x half an hour = 2 x 0.25 x 20; cores and memory take less
    found = usage(wanted(nodes=2, gpus=2, shm_gib=1), GPU_POOL, [1800.0], [1800.0])
    assert found.hours == Range(0.5, 0.5)
    assert found.gpu_hours == Range(2.0, 2.0)
    assert found.cost == Range(pytest.approx(10.0), pytest.approx(10.0))
    # memory is the largest share: 24 of 32 GiB
    found = usage(wanted(memory_gib=24), CPU_POOL, [3600.0, 7200.0], [])
    assert found.cost == Range(pytest.approx(0.6), pytest.approx(1.2))
    assert found.gpu_hours == Range(0.0, 0.0)


def test_without_a_run_the_time_limit_of_all_attempts_bounds_it() -> None:
    found = usage(wanted(timeout_s=1800, retries=3), CPU_POOL, [], [])
    assert found.hours == Range(0.0, 2.0)
    assert found.basis == "no earlier run; 4 x time limit"


def test_runs_with_these_settings_count_before_others() -> None:
    assert usage(wanted(), CPU_POOL, [36.0], [36.0, 7200.0]).hours == Range(0.01, 0.01)
    other = usage(wanted(), CPU_POOL, [], [3600.0, 7200.0])
    assert (other.hours, other.basis) == (Range(1.0, 2.0), "2 earlier runs with other settings")


def test_durations_of_a_run_log(tmp_path: Path) -> None:
    events = [
        {"event": "start", "params": {"rate": 1}},
        {"event": "done", "seconds": 10.0},
        {"event": "start", "params": {"rate": 2}},
        {"event": "failed", "exit_code": 30},
        {"event": "start", "params": {"rate": 2}},
        {"event": "done", "seconds": 20.0},
        {"event": "start", "params": {"rate": 1}},
    ]
    log = tmp_path / "train.jsonl"
    log.write_text("".join(json.dumps(event) + "\n" for event in events) + '{"event": "do', encoding="utf-8")
    assert durations(log, {"rate": 1}) == ([10.0], [10.0, 20.0])
    assert durations(log, {"rate": 3}) == ([], [10.0, 20.0])
    assert durations(tmp_path / "none.jsonl", {}) == ([], [])

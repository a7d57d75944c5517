"""Reports: the curve as a file, a stage's log, TensorBoard's event files."""

from __future__ import annotations

import io
import json
from pathlib import Path

from faithline.pipeline.log import Logger
from faithline.rl.reports import StageReport, TensorBoard, write_curve

METRICS = {"reward": 0.25, "kl": 0.5, "entropy": 1.0, "grad_norm/policy": 3.0}


def test_a_curve_has_empty_cells_where_nothing_was_measured(tmp_path: Path) -> None:
    write_curve([{"step": 0, "held_out/score": 0.5}, {"step": 1.0, "reward": 0.1}], tmp_path / "curve.csv")
    assert (tmp_path / "curve.csv").read_text() == "step,held_out/score,reward\n0,0.5,\n1,,0.1\n"


class Counter:
    def __init__(self) -> None:
        self.done = 0

    def advance(self, n: int = 1) -> None:
        self.done += n


def test_a_stage_shows_the_main_metrics_and_logs_all(tmp_path: Path) -> None:
    stream, progress = io.StringIO(), Counter()
    log = Logger("train_toy", stream=stream)
    log.open(tmp_path / "log.jsonl")
    times = iter([0.0, 1.0, 3.5, 3.5, 9.0])
    report = StageReport(log, progress, tmp_path / "traces.jsonl", clock=lambda: next(times))
    report.begin(4)
    report.stepped(5, METRICS, [{"role": "solver", "text": "ä"}])
    report.judged(5, {"score": 0.75})
    report.warn("odd")
    log.close()
    shown = stream.getvalue()
    assert progress.done == 5
    assert all(part in shown for part in ("resumed", "step=5", "seconds=2.5", "reward=0.25", "score=0.75", "odd"))
    assert "grad_norm" not in shown
    events = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert any(event.get("grad_norm/policy") == 3.0 for event in events)
    assert json.loads((tmp_path / "traces.jsonl").read_text()) == {"step": 5, "role": "solver", "text": "ä"}


def test_tensorboard_reads_the_event_files(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for start, steps in ((0, (1, 2, 3)), (2, (3, 4))):  # killed after step 3, resumed from step 2
        board = TensorBoard(tmp_path)
        board.begin(start)
        for step in steps:
            board.stepped(step, {"reward": step + start / 10}, [])
        board.judged(steps[-1], {"score": 0.5})
    found = EventAccumulator(str(tmp_path))
    found.Reload()
    rewards = {event.step: round(event.value, 4) for event in found.Scalars("reward")}
    assert rewards == {1: 1.0, 2: 2.0, 3: 3.2, 4: 4.2}
    assert [event.value for event in found.Scalars("held_out/score")][-1] == 0.5


def test_the_last_bits_of_a_sum_do_not_change_a_curve(tmp_path: Path) -> None:
    for name, value in {"one": 0.1 + 0.2, "other": 0.3}.items():
        write_curve([{"step": 0, "entropy": value, "learning_rate": 1e-6}], tmp_path / name)
    assert (
        (tmp_path / "one").read_text()
        == (tmp_path / "other").read_text()
        == "step,entropy,learning_rate\n0,0.3,1e-06\n"
    )

"""What a Kubeflow task's container does around `faithline run-stage`: params in, metrics and page out.

KFP hands a container its inputs and the paths of its outputs as one JSON text, the executor input. The wrapper writes
the params document to `params.yaml`, runs the command, passes stop signals on, and, when the stage ended well, shows
its metrics and its page in the KFP UI. Data, lock fragment and tombstone are `run-stage`'s business.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from faithline.pipeline.errors import ConfigError, DataInvalid, ExitCode
from faithline.pipeline.graph import PARAMS_FILE, Stage, load_graph

__all__ = ["exit_code", "flat_metrics", "run_task"]

OOM_EVENTS = Path("/sys/fs/cgroup/memory.events")
"""Where the kernel counts the processes of a container that it ended for want of memory."""


def run_task(
    root: Path, executor_input: str, command: Sequence[str], *, metrics: Path | None, page: Path | None
) -> int:
    """Run a stage's command as a KFP task and return the exit code.

    Args:
        root: The project folder.
        executor_input: KFP's executor input, JSON.
        command: `faithline run-stage STAGE ...`.
        metrics: Where KFP takes the metrics artifact from, for a stage that has metrics.
        page: Where KFP takes the HTML artifact from, for a stage that writes a page.

    Raises:
        ConfigError: If the executor input is not one.
        DataInvalid: If the stage ended well without a file that `dvc.yaml` promises.
    """
    try:
        message = json.loads(executor_input)
        params = message["inputs"]["parameterValues"]["params"]
        outputs = message["outputs"]
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"the executor input is not one of Kubeflow's: {type(error).__name__} {error}",
            where="faithline kfp task",
            next_step="this command is for compiled pipelines; locally use `dvc repro`",
        ) from None
    (root / PARAMS_FILE).write_text(params, encoding="utf-8")
    code = exit_code(_run(command), OOM_EVENTS)
    if code == ExitCode.OK and (metrics or page):
        stage = load_graph(root).stage(command[command.index("run-stage") + 1])
        values = _publish(root, stage, metrics, page)
        _write_executor_output(outputs, values)
    return code


def exit_code(returncode: int, oom_events: Path) -> int:
    """Turn what the operating system says of an ended process into one of Faithline's codes.

    A process that was killed from outside may be tried again, unless it was killed for its memory use: the next attempt
    would end alike.
    """
    if returncode >= 0 and returncode not in {128 + signal.SIGKILL, 128 + signal.SIGTERM}:
        return returncode
    number = -returncode if returncode < 0 else returncode - 128
    if number == signal.SIGKILL:
        return ExitCode.OUT_OF_MEMORY if _oom_kills(oom_events) else ExitCode.TEMPORARY
    return ExitCode.TEMPORARY if number == signal.SIGTERM else 128 + number


def _oom_kills(events: Path) -> int:
    try:
        counts = dict(line.split() for line in events.read_text(encoding="ascii").splitlines())
    except OSError:
        return 0
    return int(counts.get("oom_kill", 0))


def _run(command: Sequence[str]) -> int:
    with subprocess.Popen(command) as process:

        def forward(number: int, _frame: FrameType | None) -> None:
            process.send_signal(number)

        previous = {number: signal.signal(number, forward) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            return process.wait()
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)


def _publish(root: Path, stage: Stage, metrics: Path | None, page: Path | None) -> Mapping[str, float | str | bool]:
    """Copy the page, write the metrics file, and return the values to show as metadata."""
    if page is not None:
        _place(root / next(path for path in stage.products if path.endswith(".html")), page)
    values: dict[str, float | str | bool] = {}
    if metrics is not None:
        for path in stage.metrics:
            values |= flat_metrics(json.loads(_existing(root / path).read_text(encoding="utf-8")))
        metrics.parent.mkdir(parents=True, exist_ok=True)
        # A metrics artifact without a file counts as missing in KFP's local cache.
        metrics.write_text(json.dumps(values, sort_keys=True, indent=2) + "\n", encoding="utf-8")
    return values


def _place(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(_existing(source), target)


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise DataInvalid(
            "the stage ended well without a file that dvc.yaml promises",
            where=str(path),
            next_step="see the stage's log",
        )
    return path


def flat_metrics(metrics: Mapping[str, Any]) -> dict[str, float | str | bool]:
    """Flatten nested metrics to `outer.inner` keys with plain values; what KFP cannot show (lists, NaN) is left out."""
    return dict(_leaves(metrics, ""))


def _leaves(node: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, float | str | bool]]:
    for key, value in node.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{key}.")
        elif isinstance(value, (bool, str)) or (isinstance(value, (int, float)) and math.isfinite(value)):
            yield f"{prefix}{key}", value


def _write_executor_output(outputs: Mapping[str, Any], values: Mapping[str, float | str | bool]) -> None:
    """Tell KFP the metadata of the metrics artifact, which is what its UI shows."""
    named = {name: entry["artifacts"][0] for name, entry in outputs.get("artifacts", {}).items()}
    document = {
        "artifacts": {
            name: {"artifacts": [artifact | {"metadata": dict(values) if name == "metrics" else {}}]}
            for name, artifact in named.items()
        }
    }
    target = Path(outputs["outputFile"])
    target.parent.mkdir(parents=True, exist_ok=True)
    staged = target.with_name(f".{target.name}.{os.getpid()}")
    staged.write_text(json.dumps(document), encoding="utf-8")
    staged.replace(target)

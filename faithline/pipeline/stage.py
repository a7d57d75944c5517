"""The wrapper around every stage: params, paths, signals, progress, records, exit codes.

A component's `__main__.py` calls `main(name, Params, run)`. The wrapper loads the graph and the typed params, hands
`run` a context, and puts outputs in place only after `run` returned: each output is written to a hidden sibling,
folders get their record last, then everything is renamed. Whatever goes wrong leaves no output behind that looks
complete, one message on stderr, and the exit code of `faithline.pipeline.errors`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import FrameType
from typing import Generic, NoReturn, TypeVar

import msgspec

from faithline.pipeline.errors import ConfigError, DataInvalid, ExitCode, Preempted, classify
from faithline.pipeline.graph import Stage, load_graph
from faithline.pipeline.log import Logger
from faithline.pipeline.params import load_params
from faithline.pipeline.progress import Progress, progress
from faithline.pipeline.records import input_digest, write_record
from faithline.pipeline.staging import Staging

P = TypeVar("P", bound=msgspec.Struct)
Run = Callable[["StageContext[P]"], Mapping[str, object]]


class _Terminated(BaseException):
    """SIGTERM arrived; not an `Exception`, so that no library's broad handler swallows it."""


class StageContext(Generic[P]):
    """What a running stage may use: its params, declared paths, log and progress."""

    def __init__(self, root: Path, stage: Stage, params: P, log: Logger, staging: Staging) -> None:
        self.params = params
        self.log = log
        self._root = root
        self._stage = stage
        self._staging = staging

    @property
    def seed(self) -> int:
        """The run's seed, for stages that list `seed` among their params."""
        value = getattr(self.params, "seed", None)
        if not isinstance(value, int):
            raise ConfigError(f"stage {self._stage.name} has no `seed` among its params", where="dvc.yaml")
        return value

    def dep(self, path: str) -> Path:
        """Return the place of a declared dependency (or of something below one).

        Raises:
            ConfigError: If `dvc.yaml` does not declare it, for then a change of it would go unnoticed.
            DataInvalid: If it is not there.
        """
        if not self._stage.declares_dep(path):
            raise ConfigError(
                f"`{path}` is not a dependency of stage {self._stage.name}",
                where=f"dvc.yaml: {self._stage.name}: deps",
                next_step="add it to the stage's deps, or choose a path below one of them",
            )
        place = self._root / path
        if not place.exists():
            raise DataInvalid("input not found", where=path, next_step="run `dvc repro` for the stages before it")
        return place

    def out(self, path: str) -> Path:
        """Return where to write a declared output; the wrapper moves it into place when the stage has succeeded."""
        return self._staging.place(path)

    def log_folder(self) -> Path:
        """Return an empty folder below `logs/` for what must survive a failure; it is no output, nothing reads it."""
        folder = self._root / "logs" / self._stage.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def progress(self, total: int, unit: str, label: str) -> AbstractContextManager[Progress]:
        """Report progress over `total` units."""
        return progress(total, unit, label, self.log)


def main(name: str, params_type: type[P], run: Run[P], argv: list[str] | None = None) -> NoReturn:
    """Run a stage as a command and exit with its code."""
    parser = argparse.ArgumentParser(
        prog=f"python -m components.{name}",
        description=(sys.modules["__main__"].__doc__ or f"Pipeline stage {name}.").strip(),
        epilog="Settings come from params.yaml, paths from dvc.yaml. Exit codes: 0 ok, 10 keep the champion, 20 data, "
        "30 diverged, 40 configuration or environment, 50 out of memory, 75 temporary.",
    )
    parser.add_argument("--root", type=Path, default=Path(), help="the project folder (default: here)")
    arguments = parser.parse_args(argv)
    # Before torch is loaded: OpenMP threads that wait by spinning slow a stage down manyfold when it shares its cores
    # (a training step took 62 s with, 37 s without on a busy two-core machine).
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    sys.exit(execute(arguments.root, name, params_type, run))


def execute(root: Path, name: str, params_type: type[P], run: Run[P]) -> int:
    """Run a stage in this process and return its exit code."""
    log = Logger(name)
    started = time.monotonic()
    previous = signal.signal(signal.SIGTERM, _preempt)
    try:
        metrics = _run(root, name, params_type, run, log)
        shown = {key: value for key, value in metrics.items() if isinstance(value, (int, float, str))}
        log.info("done", seconds=round(time.monotonic() - started, 1), **shown)
        return ExitCode.OK
    except _Terminated:
        return _report(
            name, Preempted("told to stop (SIGTERM)", next_step="run it again; nothing is half-written"), log
        )
    except KeyboardInterrupt:
        log.record("interrupted")
        print(f"{name}: interrupted; nothing was left half-written", file=sys.stderr)
        return ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last handler: every failure becomes a message and a code
        return _report(name, error, log)
    finally:
        log.close()
        signal.signal(signal.SIGTERM, previous)


def _run(root: Path, name: str, params_type: type[P], run: Run[P], log: Logger) -> Mapping[str, object]:
    graph = load_graph(root)
    stage = graph.stage(name)
    params = load_params(root, graph, stage, params_type)
    log.open(root / "logs" / f"{name}.jsonl")
    log.record("start", pid=os.getpid(), params=msgspec.to_builtins(params))
    with Staging(root, stage) as staging:
        context = StageContext(root, stage, params, log, staging)
        metrics = run(context)
        folders = staging.finished_folders()
        if folders:
            inputs = {dep: input_digest(root / dep) for dep in stage.deps if not _is_code(dep)}
        for folder in folders:
            write_record(folder, stage=name, inputs=inputs, params=msgspec.to_builtins(params), metrics=metrics)
        with _signals_held():
            staging.commit()
    return metrics


def _is_code(dep: str) -> bool:
    """Code is DVC's business: in the record it would change every output's bytes for a changed comment."""
    return dep.split("/", maxsplit=1)[0] in {"components", "faithline"}


def _preempt(_number: int, _frame: FrameType | None) -> None:
    raise _Terminated


@contextmanager
def _signals_held() -> Iterator[None]:
    """Keep a stop signal from falling between the renames of several outputs."""
    held = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, held)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, held)


def _report(name: str, error: Exception, log: Logger) -> int:
    known = classify(error)
    if known is None:
        log.record("bug", traceback=traceback.format_exc())
        traceback.print_exc()
        print(
            f"error: {name}: unexpected {type(error).__name__}: {error}\n"
            f"  next:  this is a bug in Faithline; report it with logs/{name}.jsonl",
            file=sys.stderr,
        )
        return ExitCode.BUG
    log.record("failed", exit_code=int(known.exit_code), what=known.what, where=known.where)
    kind = "" if known.exit_code is ExitCode.GATE_REJECTED else "error: "
    print(f"{kind}{name}: {known}", file=sys.stderr)
    return int(known.exit_code)

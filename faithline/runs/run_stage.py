"""One attempt at one stage of a run: inputs from the store, the stage through DVC, outputs to the store, fragment last.

The order is what makes an attempt safe to break off anywhere and to repeat: nothing counts before the fragment is
there, and the fragment is written when everything it names has been checked in the store. An attempt at a stage that is
done already does nothing. What an attempt did and how long it took is recorded beside the lease, for people.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from faithline.kubeflow.task import OOM_EVENTS, exit_code
from faithline.pipeline.errors import ConfigError, ExitCode, PipelineError, Preempted, classify
from faithline.pipeline.graph import Graph, load_graph
from faithline.pipeline.log import Logger
from faithline.runs.fragments import Fragment, check_agreement, commit_fragment, read_fragment
from faithline.runs.layout import REMOTE, attempt_key, checked_run_id, lease_key
from faithline.runs.lease import Lease
from faithline.runs.objects import Moved, push
from faithline.runs.pin import pin_run
from faithline.runs.processes import WORKSPACE_MARK
from faithline.runs.stopping import Stopped, Stopper
from faithline.runs.transfer import (
    bring,
    bring_result,
    bring_uncached,
    send_result,
    uncached_outputs,
    upstream_fragments,
    wanted_outputs,
    write_lock,
)
from faithline.runs.workspace import check_project, private_copy, workspace_lock
from faithline.store.objects import Store, open_store

if TYPE_CHECKING:
    from faithline.runs.project import Project

__all__ = ["CHECKPOINTS", "Request", "run_stage"]

CHECKPOINTS = "FAITHLINE_CHECKPOINTS"
"""Environment variable that tells a stage where its checkpoints go."""
STALE_UPLOAD_S = 24 * 3600
"""Uploads that old were killed; no upload of one object takes that long."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to run, and where."""

    root: Path
    stage: str
    run_id: str
    store_url: str
    workspace: Path | None
    """Folder for a private copy of the project; None to work in the project itself."""
    cache: Path | None
    """DVC cache to use instead of the project's own, for instance on a volume that pods share."""
    lease_s: float
    wait_s: float
    grace_s: float


@dataclass
class _Attempt:
    """What is recorded of an attempt."""

    started: float = field(default_factory=time.time)
    seconds: dict[str, float] = field(default_factory=dict)
    received: Moved = field(default_factory=Moved)
    sent: Moved = field(default_factory=Moved)
    outcome: str = "failed"
    log: Logger = field(default_factory=lambda: Logger("run-stage"))

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Add the time that passes to a phase's."""
        begin = time.monotonic()
        try:
            yield
        finally:
            self.seconds[phase] = round(self.seconds.get(phase, 0.0) + time.monotonic() - begin, 3)


@dataclass(frozen=True)
class _Job:
    """What the parts of an attempt share."""

    request: Request
    root: Path
    """The workspace."""
    graph: Graph
    store: Store
    attempt: _Attempt


def run_stage(request: Request) -> int:
    """Run a stage of a run and return the exit code: the stage's own where it failed.

    Raises:
        PipelineError: If the attempt failed outside the stage.
    """
    checked_run_id(request.run_id)
    graph = load_graph(request.root)
    graph.stage(request.stage)
    check_project(request.root)
    store = open_store(request.store_url)
    attempt = _Attempt()
    code: int = ExitCode.BUG
    try:
        with Stopper(request.grace_s) as stopper:
            try:
                with attempt.timed("pin"):
                    pin_run(store, request.run_id, request.root)
                code = _in_workspace(request, graph, store, stopper, attempt)
            except Exception as error:
                if stopper.broken_off:
                    raise Stopped from error
                raise
    except PipelineError as error:
        code = error.exit_code
        raise
    except Stopped:
        code = ExitCode.TEMPORARY
        raise Preempted("told to stop (SIGTERM)", next_step="run it again; nothing is half-written") from None
    except OSError as error:
        known = classify(error)
        code = known.exit_code if known else code
        raise
    finally:
        _record(store, request, attempt, code)
        attempt.log.info(
            attempt.outcome,
            stage=request.stage,
            run=request.run_id,
            exit_code=int(code),
            sent=f"{attempt.sent.objects} objects, {attempt.sent.size} bytes",
            received=f"{attempt.received.objects} objects, {attempt.received.size} bytes",
            **{f"{phase}_s": seconds for phase, seconds in attempt.seconds.items()},
        )
    return code


def _in_workspace(request: Request, graph: Graph, store: Store, stopper: Stopper, attempt: _Attempt) -> int:
    with ExitStack() as stack:
        root = request.root
        with attempt.timed("workspace"):
            if request.workspace is not None:
                root = stack.enter_context(private_copy(root, request.workspace, graph))
            stack.enter_context(workspace_lock(root, wait_s=request.wait_s))
        os.environ[WORKSPACE_MARK] = str(root.resolve())
        os.environ[CHECKPOINTS] = f"{store.url}/runs/{request.run_id}/{request.stage}/checkpoints"
        stopper.workspace = root
        lease = Lease(store, lease_key(request.run_id, request.stage), ttl_s=request.lease_s, on_lost=_stop_self)
        stack.callback(lease.release)
        with attempt.timed("lease"):
            lease.acquire(
                wait_s=request.wait_s, done=lambda: read_fragment(store, request.run_id, request.stage) is not None
            )
        with attempt.timed("start_dvc"):
            from faithline.runs.project import Project

            project = Project(root, cache=request.cache, private=request.workspace is not None)
            stack.callback(project.close)
        try:
            return _work(_Job(request, root, graph, store, attempt), project, stopper)
        except Stopped:
            if lease.lost:
                raise Preempted(
                    "another attempt took the lease over: this one had not renewed it for too long",
                    where=lease_key(request.run_id, request.stage),
                    next_step="let the other end",
                ) from None
            raise


def _work(job: _Job, project: Project, stopper: Stopper) -> int:
    from faithline.runs.project import StageFailed

    store, stage, run_id = job.store, job.request.stage, job.request.run_id
    done = read_fragment(store, run_id, stage)
    if done is not None:
        _check_code(project, job.graph, done, run_id)
        bring_uncached(project, store, done, uncached_outputs(job.root, job.graph, stage), job.attempt.received)
        job.attempt.outcome = "done before"
        return ExitCode.OK
    with job.attempt.timed("inputs"):
        upstream = upstream_fragments(store, run_id, stage, job.graph)
        write_lock(job.root, list(upstream.values()))
        wanted = wanted_outputs(job.graph, stage, upstream)
        if wanted:
            size = sum(out.size for out in {out for out, _ in wanted})
            job.attempt.log.info("inputs", stage=stage, outputs_of=",".join(upstream), bytes=size)
        bring(project, store, job.root, wanted, job.attempt.received)
        key = project.run_key(stage)
        fresh = job.graph.stage(stage).meta.get("cache") is False
        if key is not None and not fresh:
            bring_result(project, store, key, job.attempt.received, job.attempt.log)
    with job.attempt.timed("stage"):
        try:
            fragment = project.reproduce(stage, key, fresh=fresh)
        except StageFailed as error:
            if stopper.requested:
                raise Stopped from None
            return exit_code(error.exit_code, OOM_EVENTS)
    stopper.saving = True
    with job.attempt.timed("outputs"):
        check_agreement({**upstream, stage: fragment}, job.graph)
        push(store, project.sources(fragment), job.attempt.sent)
        if key is not None:
            send_result(project, store, key)
        counted = commit_fragment(store, run_id, fragment)
        with suppress(PipelineError):
            store.clear_uploads(f"{REMOTE}/", STALE_UPLOAD_S)
    if counted.outs != fragment.outs:
        job.attempt.log.warning("another attempt was done first, and its outputs count", stage=stage)
    job.attempt.outcome = "ran" if project.ran else "from the run cache"
    return ExitCode.OK


def _check_code(project: Project, graph: Graph, done: Fragment, run_id: str) -> None:
    check_agreement({done.stage: done}, graph)
    made = [path for stage in graph.stages.values() for path in stage.products]
    here = project.local_deps(done.stage, made)
    changed = [dep.path for dep in done.deps if here.get(dep.path, dep.md5) != dep.md5]
    if changed:
        raise ConfigError(
            f"stage {done.stage} of run {run_id} is done, with other content of {', '.join(changed)}",
            where=", ".join(changed),
            next_step="start a new run with another id; what is unchanged comes from the run cache",
        )


def _stop_self() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def _record(store: Store, request: Request, attempt: _Attempt, code: int) -> None:
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(attempt.started))
    owner = f"{socket.gethostname()}:{os.getpid()}"
    document = {
        "owner": owner,
        "started": stamp,
        "exit_code": int(code),
        "outcome": attempt.outcome,
        "seconds": attempt.seconds,
        "sent": [attempt.sent.objects, attempt.sent.size],
        "received": [attempt.received.objects, attempt.received.size],
    }
    key = attempt_key(request.run_id, request.stage, f"{stamp}-{owner.replace(':', '-')}")
    with suppress(PipelineError, OSError):
        store.write(key, json.dumps(document, indent=2).encode())

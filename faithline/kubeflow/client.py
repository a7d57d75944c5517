"""Runs on a Kubeflow server, through KFP's own client.

The server is named by `--endpoint` or `KF_PIPELINES_ENDPOINT`. In a cluster, `KF_PIPELINES_SA_TOKEN_PATH` (KFP's own
name) points to the service account's token. What a run's failure means is read from its tombstones, for the server
knows states only: a stage that failed without one ended with a passing fault, its retries used up.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faithline.cluster.tombstone import read_tombstone
from faithline.pipeline.errors import ConfigError, EnvironmentMismatch, ExitCode, Preempted
from faithline.store.objects import Store

if TYPE_CHECKING:
    from kfp import Client

__all__ = ["Kubeflow", "RunState", "StageState", "connect", "failure_code"]

ENDED = {"SUCCEEDED", "SKIPPED", "FAILED", "CANCELED"}


@dataclass(frozen=True)
class StageState:
    """One stage of a run."""

    stage: str
    state: str
    error: str


@dataclass(frozen=True)
class RunState:
    """A run as the server sees it."""

    run_id: str
    name: str
    state: str
    created: str
    finished: str
    error: str
    stages: tuple[StageState, ...]

    @property
    def ended(self) -> bool:
        """Whether the state is final."""
        return self.state in ENDED


@dataclass(frozen=True)
class Kubeflow:
    """An open connection; a namespace only where the server has several users."""

    client: Client
    namespace: str | None

    def submit(self, package: Path, name: str, experiment: str, service_account: str) -> str:
        """Start a run of a compiled pipeline and return its id."""
        with _quiet():
            home = self.client.create_experiment(experiment, namespace=self.namespace)
            run = self.client.run_pipeline(home.experiment_id, name, str(package), service_account=service_account)
        return str(run.run_id)

    def state(self, run_id: str) -> RunState:
        """Return the state of a run and of its stages."""
        with _quiet():
            run = self.client.get_run(run_id)
        details = (run.run_details.task_details if run.run_details else None) or []
        return RunState(
            run_id=run_id,
            name=str(run.display_name),
            state=str(run.state or "PENDING"),
            created=str(run.created_at or ""),
            finished=str(run.finished_at or ""),
            error=run.error.message if run.error else "",
            stages=tuple(_stage_states(_stage_names(run.pipeline_spec), details)),
        )

    def log(self, run_id: str, stage: str) -> str:
        """Return what the latest attempt at a stage printed.

        Raises:
            ConfigError: If the run has no such stage, or it has not started.
        """
        with _quiet():
            details = self.client.get_run(run_id).run_details
            nodes = _pods(stage, (details.task_details if details else None) or [])
            if not nodes:
                raise ConfigError(
                    f"stage {stage} has no pod in run {run_id}", next_step=f"see `faithline kfp status {run_id}`"
                )
            response = self.client._run_api.api_client.call_api(  # the generated client has no method for it
                "/apis/v1alpha1/runs/{run_id}/nodes/{node_id}/log",
                "GET",
                path_params={"run_id": run_id, "node_id": nodes[-1]},
                header_params={"Accept": "text/plain"},
                auth_settings=["Bearer"],
                _preload_content=False,
                _return_http_data_only=True,
            )
        return str(response.data.decode("utf-8", errors="replace"))

    def cancel(self, run_id: str) -> None:
        """End a run; its pods get SIGTERM, so stages save what they can."""
        with _quiet():
            self.client.terminate_run(run_id)

    def retry(self, run_id: str) -> None:
        """Start the failed stages of a run again, under the same run id."""
        with _quiet():
            self.client.runs.run_service_retry_run(run_id)

    def schedule(self, package: Path, name: str, experiment: str, service_account: str, cron: str) -> str:
        """Start runs by a clock and return the recurring run's id; never two at once, missed times are not made up."""
        with _quiet():
            home = self.client.create_experiment(experiment, namespace=self.namespace)
            made = self.client.create_recurring_run(
                home.experiment_id,
                name,
                cron_expression=cron,
                max_concurrency=1,
                no_catchup=True,
                pipeline_package_path=str(package),
                service_account=service_account,
            )
        return str(made.recurring_run_id)

    def schedules(self) -> list[tuple[str, str, str, str]]:
        """Return (id, name, cron, status) of every recurring run."""
        with _quiet():
            page = self.client.list_recurring_runs(page_size=100, namespace=self.namespace)
        return [
            (
                str(job.recurring_run_id),
                str(job.display_name),
                job.trigger.cron_schedule.cron if job.trigger and job.trigger.cron_schedule else "",
                str(job.status),
            )
            for job in page.recurring_runs or []
        ]

    def unschedule(self, recurring_run_id: str) -> None:
        """Remove a recurring run; runs it started go on."""
        with _quiet():
            self.client.delete_recurring_run(recurring_run_id)


def connect(endpoint: str, namespace: str, environment: Mapping[str, str]) -> Kubeflow:
    """Open a connection to a KFP server.

    Raises:
        ConfigError: If no endpoint is given.
        EnvironmentMismatch: If the server refuses.
        Preempted: If it cannot be reached.
    """
    if not endpoint:
        raise ConfigError(
            "no Kubeflow server is named",
            where="--endpoint or KF_PIPELINES_ENDPOINT",
            next_step="give its address, such as http://localhost:8888 (kubectl port-forward svc/ml-pipeline 8888)",
        )
    with _quiet():
        open_client = _opener(endpoint, environment)
        client = open_client(namespace)
        several_users = bool(client.get_kfp_healthz(sleep_duration=0).multi_user)
        if several_users:
            return Kubeflow(client, namespace)
        # A server for one user refuses requests that name a namespace, and this client would add it to all of them.
        return Kubeflow(open_client("kubeflow"), None)


def _opener(endpoint: str, environment: Mapping[str, str]) -> Callable[[str], Client]:
    from kfp import client as kfp_client

    token = environment.get("KF_PIPELINES_SA_TOKEN_PATH")
    credentials = kfp_client.ServiceAccountTokenVolumeCredentials(token) if token else None
    return lambda namespace: kfp_client.Client(host=endpoint, namespace=namespace, credentials=credentials)


def failure_code(state: RunState, store: Store) -> int:
    """Return the exit code that a run's state means, as a stage's process would have given it."""
    if state.state == "CANCELED":
        return ExitCode.INTERRUPTED
    if state.state != "FAILED":
        return ExitCode.OK
    for stage in state.stages:
        found = read_tombstone(store, state.run_id, stage.stage) if stage.state == "FAILED" else None
        if found:
            return found.exit_code
    return ExitCode.TEMPORARY


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep the client's own prints off stdout, and word its failures."""
    from kfp_server_api import ApiException
    from urllib3.exceptions import HTTPError

    with warnings.catch_warnings(), contextlib.redirect_stdout(sys.stderr):
        warnings.simplefilter("ignore")
        try:
            yield
        except ApiException as error:
            raise _refusal(error.status, str(error.reason), error.body) from None
        except TimeoutError as error:
            raise Preempted(f"the Kubeflow server does not answer: {error}", next_step="try again") from None
        except HTTPError as error:
            cause = getattr(error, "reason", None) or error
            raise Preempted(
                f"the Kubeflow server cannot be reached: {cause}", next_step="check --endpoint and the port-forward"
            ) from None


def _refusal(status: int | None, reason: str, body: object) -> EnvironmentMismatch | ConfigError | Preempted:
    text = body.decode("utf-8", errors="replace") if isinstance(body, bytes) else str(body or "")
    what = f"the Kubeflow server answers {status} {reason}: {text[:300]}"
    if status in {401, 403}:
        return EnvironmentMismatch(
            what, next_step="log in, or set KF_PIPELINES_SA_TOKEN_PATH to a token this server takes"
        )
    if status is not None and 400 <= status < 500 and status != 429:
        return ConfigError(what, next_step="check the id with `faithline kfp status` or `kfp schedules`")
    return Preempted(what, next_step="try again; the server or its database is out of order for now")


def _stage_names(spec: Mapping[str, Any] | None) -> dict[str, str]:
    """Return task name → stage of a run's pipeline spec."""
    spec = (spec or {}).get("pipeline_spec", spec or {})
    tasks = spec.get("root", {}).get("dag", {}).get("tasks", {})
    return {name: str(task.get("taskInfo", {}).get("name", name)) for name, task in tasks.items()}


def _stage_states(names: Mapping[str, str], details: Iterable[Any]) -> Iterator[StageState]:
    latest: dict[str, StageState] = {stage: StageState(stage, "NOT STARTED", "") for stage in names.values()}
    stages = {**names, **{stage: stage for stage in names.values()}}
    for detail in details:
        stage = stages.get(str(detail.display_name))
        if stage is not None:
            error = detail.error.message if detail.error else ""
            latest[stage] = StageState(stage, str(detail.state or "PENDING"), error)
    yield from latest.values()


def _pods(stage: str, details: Iterable[Any]) -> list[str]:
    """Return the ids of the pods that ran a stage's own command, earliest first.

    A task of the server's tree has its driver and its executor below it; the executor's pod ran the command.
    """
    details = list(details)
    wanted = {stage, stage.replace("_", "-")}
    above = {str(detail.task_id) for detail in details if str(detail.display_name) in wanted}
    named = [child for detail in details if str(detail.task_id) in above for child in detail.child_tasks or []]
    below = {str(child.pod_name or child.task_id) for child in named}
    parents = set(above)
    found = [
        detail
        for detail in details
        if (str(detail.parent_task_id) in parents or {str(detail.pod_name), str(detail.task_id)} & below)
        and "driver" not in str(detail.display_name)
    ]
    found.sort(key=lambda detail: str(detail.start_time or detail.create_time or ""))
    pods = [str(detail.pod_name or detail.task_id) for detail in found]
    return pods or sorted(pod for pod in below if "driver" not in pod)

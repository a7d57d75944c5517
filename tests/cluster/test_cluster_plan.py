"""The plan against DVC itself, on a project that DVC really runs."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dvc.repo import Repo, lock_repo

from faithline.cluster.estimates import Range
from faithline.cluster.plan import Plan, make_plan
from faithline.pipeline.errors import ConfigError, Preempted

Edit = Callable[[Path, Callable[[Any], None]], None]


def repro(root: Path, *targets: str, **options: Any) -> set[str]:
    """Run the pipeline with DVC; the stages that were (or with `dry`, would be) reproduced."""
    with contextlib.chdir(root), Repo() as repo:
        return {stage.addressing for stage in repo.reproduce(list(targets) or None, **options)}


def status(root: Path) -> set[str]:
    """Stages that DVC calls changed."""
    with contextlib.chdir(root), Repo() as repo:
        return set(repo.status())


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy after a complete run."""
    root = tmp_path_factory.mktemp("finished") / "toy"
    shutil.copytree(Path(__file__).parent / "toy", root)
    (root / "in.txt").write_text("words\n", encoding="utf-8")
    Repo.init(str(root), no_scm=True)
    assert repro(root) == {"prepare_text", "train", "report"}
    return root


@pytest.fixture
def project(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "project"))


def plan(root: Path, *, allow_missing: bool = False) -> Plan:
    return make_plan(root, allow_missing=allow_missing)


def actions(found: Plan) -> dict[str, str]:
    return {stage.stage: stage.action + ("" if stage.certain else "?") for stage in found.stages}


def reasons(found: Plan) -> dict[str, tuple[str, ...]]:
    return {stage.stage: stage.reasons for stage in found.stages}


def agrees_with_dvc(root: Path, found: Plan) -> None:
    """What DVC would run now is what the plan says certainly runs; what it calls changed has a reason."""
    assert {s.stage for s in found.stages if s.action == "run" and s.certain} == repro(root, dry=True)
    assert status(root) <= {s.stage for s in found.stages if s.reasons}


def test_up_to_date(project: Path) -> None:
    found = plan(project)
    assert actions(found) == {"prepare_text": "cached", "train": "cached", "report": "cached"}
    assert set(reasons(found).values()) == {()}
    assert (found.cost, found.gpu_hours) == (Range(0, 0), Range(0, 0))
    agrees_with_dvc(project, found)


def test_never_run(toy: Path) -> None:
    Repo.init(str(toy), no_scm=True)
    found = plan(toy)
    assert actions(found) == {"prepare_text": "run", "train": "run", "report": "run"}
    assert reasons(found)["train"] == ("never run here",)
    # train: 1 GPU for 4 attempts of 2 hours; its node: 6/16 cores, 24/64 GiB, 1/2 GPUs of 2.0 an hour
    assert found.stages[1].gpu_hours == Range(0, 8.0)
    assert found.stages[1].cost == Range(0, 8.0 * 0.5 * 2.0)


def test_a_changed_dependency(project: Path) -> None:
    (project / "in.txt").write_text("other words\n")
    found = plan(project)
    assert actions(found) == {"prepare_text": "run", "train": "run?", "report": "run?"}
    assert reasons(found)["prepare_text"] == ("dependency modified: in.txt",)
    assert reasons(found)["train"] == ("after prepare_text, unless its outputs come out equal",)
    # nothing that may be skipped is in the low end
    assert found.gpu_hours.low == 0
    agrees_with_dvc(project, found)


def test_a_changed_param_and_what_it_costs(project: Path, edit: Edit) -> None:
    (project / "logs").mkdir()
    log = [{"event": "start", "params": {"rate": 0.002}}, {"event": "done", "seconds": 900.0}]
    (project / "logs" / "train.jsonl").write_text("".join(json.dumps(line) + "\n" for line in log))
    edit(project / "params.yaml", lambda d: d.update(rate=2.0e-3))
    found = plan(project)
    assert actions(found) == {"prepare_text": "cached", "train": "run", "report": "run?"}
    assert reasons(found)["train"] == ("param rate modified",)
    assert found.stages[1].basis == "1 earlier run with these settings"
    assert found.gpu_hours == Range(0.25, 0.25)
    agrees_with_dvc(project, found)
    # the setting comes back: DVC restores that run, and the plan knows
    repro(project)
    edit(project / "params.yaml", lambda d: d.update(rate=1.0e-3))
    assert reasons(plan(project))["train"] == ("param rate modified", "an equal run is in the cache")
    assert actions(plan(project))["train"] == "cached"
    repro(project)
    assert status(project) == set()


def test_a_deleted_output(project: Path) -> None:
    shutil.rmtree(project / "models" / "m")
    found = plan(project)
    assert actions(found) == {"prepare_text": "cached", "train": "cached", "report": "cached"}
    assert reasons(found)["train"] == ("an equal run is in the cache",)
    shutil.rmtree(project / ".dvc" / "cache")
    found = plan(project)
    assert actions(found)["train"] == "run"
    assert reasons(found)["train"][0] == "rebuild: output missing: models/m"
    assert reasons(found)["prepare_text"] == ("rebuild: output not in cache: data/text",)
    # the store has what dvc.lock names
    found = plan(project, allow_missing=True)
    assert set(actions(found).values()) == {"cached"}


def test_a_missing_output_that_dvc_does_not_keep(project: Path) -> None:
    (project / "reports" / "report.html").unlink()
    found = plan(project)
    assert reasons(found)["report"] == ("rebuild: output missing: reports/report.html",)
    agrees_with_dvc(project, found)


def test_a_changed_command(project: Path, edit: Edit) -> None:
    edit(
        project / "dvc.yaml",
        lambda d: d["stages"]["report"].update(cmd="mkdir -p reports && cp in.txt reports/report.html"),
    )
    found = plan(project)
    assert reasons(found)["report"] == ("command changed",)
    agrees_with_dvc(project, found)


def test_an_uncached_stage_runs_and_leaves_the_others_to_content(project: Path, edit: Edit) -> None:
    edit(project / "dvc.yaml", lambda d: d["stages"]["prepare_text"]["meta"].update(cache=False))
    found = plan(project)
    assert actions(found) == {"prepare_text": "run", "train": "run?", "report": "run?"}
    assert reasons(found)["prepare_text"] == ("uncached: its meta says cache: false",)
    assert repro(project, "prepare_text", single_item=True, force=True) == {"prepare_text"}
    assert repro(project, dry=True) == set()  # equal outputs: the others are still cached


def test_resume_from_the_newest_complete_checkpoint(project: Path, edit: Edit) -> None:
    edit(project / "params.yaml", lambda d: d.update(rate=2.0e-3))
    folder = project / "checkpoints" / "train"
    (folder / "shards").mkdir(parents=True)  # shards without a manifest are no checkpoint
    assert plan(project).stages[1].action == "run"
    (folder / "manifests").mkdir()
    for name in ("9.json", "00000020.json", ".part-30.json"):
        (folder / "manifests" / name).write_text("{}")
    stage = plan(project).stages[1]
    assert (stage.action, stage.reasons[-1]) == (
        "resume",
        "from step 20 in checkpoints/train, if it is of this training",
    )
    assert stage.gpu_hours.low == 0


def test_a_busy_project_and_a_folder_without_dvc(project: Path, toy: Path, tmp_path: Path) -> None:
    with Repo(str(project)) as repo, lock_repo(repo), pytest.raises(Preempted, match="another DVC process"):
        plan(project)
    bare = tmp_path / "bare"
    shutil.copytree(toy, bare, ignore=shutil.ignore_patterns(".dvc"))
    with pytest.raises(ConfigError, match="DVC says"):
        plan(bare)

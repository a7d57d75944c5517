"""A pipeline run stage by stage in separate clones that share only the store."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.store_servers import STAGES, client, make_project
from faithline.runs.layout import fragment_key, lease_key
from faithline.store.objects import open_store
from tests.runs.conftest import Try

Start = Callable[..., Try]
Dvc = Callable[..., str]


def ended(attempt: Try, code: int = 0) -> str:
    """Wait for a try, check its exit code, return what it printed."""
    found = attempt.wait()
    text = attempt.text()
    assert found == code, text
    assert "Traceback" not in text
    return text


def test_separate_clones_give_the_lock_of_one_dvc_repro(
    bucket: str, project: Path, tmp_path: Path, run_stage: Start, start: Start, dvc: Dvc
) -> None:
    store = f"s3://{bucket}/team"
    for name in STAGES:
        clone = shutil.copytree(project, tmp_path / f"clone-{name}")
        assert f"run-stage ran stage={name}" in ended(run_stage(clone, name, store))
    adopted = shutil.copytree(project, tmp_path / "adopted")
    shown = ended(start(adopted, "runs", "show", "R", "--store", store))
    assert [line.split()[:2] for line in shown.splitlines()] == [[name, "done"] for name in STAGES]
    told = ended(start(adopted, "runs", "adopt", "R", "--store", store))
    assert "wrote metrics/first.json, metrics/third.json, dvc.lock" in told
    dvc(project, "repro")
    assert (adopted / "dvc.lock").read_text() == (project / "dvc.lock").read_text()

    # What git would bring to another laptop, and DVC the rest.
    laptop = shutil.copytree(adopted, tmp_path / "laptop", ignore=shutil.ignore_patterns("data", "tmp", "cache"))
    dvc(laptop, "remote", "add", "--default", "runs", f"{store}/dvc")
    dvc(laptop, "pull")
    assert dvc(laptop, "status").strip() == "Data and pipelines are up to date."
    assert (laptop / "data/third/x").read_bytes() == (project / "data/third/x").read_bytes()
    assert "Everything is up to date" in dvc(laptop, "push")


def test_another_run_takes_what_is_unchanged_from_the_run_cache(
    bucket: str, project: Path, tmp_path: Path, run_stage: Start
) -> None:
    store = f"s3://{bucket}"
    for name in STAGES:
        ended(run_stage(project, name, store, "--workspace", str(tmp_path / "work")))
    params = project / "params.yaml"
    params.write_text(params.read_text().replace("size: 2000", "size: 3000"))
    outcomes = {
        name: ended(run_stage(project, name, store, "--workspace", str(tmp_path / "work"), run_id="R2"))
        for name in STAGES
    }
    assert "from the run cache stage=first" in outcomes["first"]
    assert "ran stage=second" in outcomes["second"]
    assert "ran stage=third" in outcomes["third"]
    assert list((tmp_path / "work").iterdir()) == []
    assert {path.name for path in project.iterdir()} == {".dvc", ".dvcignore", "code", "dvc.yaml", "params.yaml", "raw"}


def test_a_clone_with_the_lock_of_an_earlier_run_starts_another(
    bucket: str, project: Path, tmp_path: Path, run_stage: Start, start: Start
) -> None:
    store = f"s3://{bucket}"
    for name in STAGES:
        ended(run_stage(project, name, store, "--workspace", str(tmp_path / "work")))
    ended(start(project, "runs", "adopt", "R", "--store", store))
    expected = (project / "dvc.lock").read_bytes()
    for name in STAGES:
        clone = shutil.copytree(project, tmp_path / f"clone-{name}")
        assert f"from the run cache stage={name}" in ended(run_stage(clone, name, store, run_id="R2"))
    ended(start(project, "runs", "adopt", "R2", "--store", store))
    assert (project / "dvc.lock").read_bytes() == expected


def test_a_stage_that_is_not_to_be_cached_runs_in_every_run(tmp_path: Path, project: Path, run_stage: Start) -> None:
    text = (project / "dvc.yaml").read_text()
    changed = text.replace("    outs: [data/first]\n", "    outs: [data/first]\n    meta: {cache: false}\n")
    assert changed != text
    (project / "dvc.yaml").write_text(changed)
    store = str(tmp_path / "store")
    for run_id in ("R1", "R2", "R3"):
        assert "run-stage ran stage=first" in ended(run_stage(project, "first", store, run_id=run_id))
    assert "done before" in ended(run_stage(project, "first", store, run_id="R3"))
    assert "run-stage ran stage=second" in ended(run_stage(project, "second", store, run_id="R1"))
    clone = make_project(tmp_path / "clone")
    (clone / "dvc.yaml").write_text(changed)
    assert "from the run cache stage=second" in ended(run_stage(clone, "second", store, run_id="R2"))


def test_a_stage_that_is_done_is_not_done_again(tmp_path: Path, project: Path, run_stage: Start) -> None:
    store = str(tmp_path / "store")
    ended(run_stage(project, "first", store))
    clone = make_project(tmp_path / "clone")
    assert "done before stage=first" in ended(run_stage(clone, "first", store))
    assert json.loads((clone / "metrics/first.json").read_text()) == {"seed": 7}  # for runners that show it
    (clone / "code/first.py").write_text("print('other')\n")
    assert "with other content of code/first.py" in ended(run_stage(clone, "first", store), 40)


def test_a_folder_is_a_store_and_read_only_projects_run_in_a_workspace(
    tmp_path: Path, project: Path, run_stage: Start, start: Start, dvc: Dvc
) -> None:
    store = f"file://{tmp_path / 'store'}"
    before = {path: path.stat().st_mtime_ns for path in project.rglob("*")}
    for name in STAGES:
        ended(run_stage(project, name, store, "--workspace", str(tmp_path / "work"), "--cache", str(tmp_path / "c")))
    assert {path: path.stat().st_mtime_ns for path in project.rglob("*")} == before
    ended(start(project, "runs", "adopt", "R", "--store", store))
    dvc(project, "remote", "add", "--default", "runs", str(tmp_path / "store" / "dvc"))
    dvc(project, "pull")
    assert dvc(project, "status").strip() == "Data and pipelines are up to date."


def test_other_settings_than_the_runs_exit_40(tmp_path: Path, project: Path, run_stage: Start, start: Start) -> None:
    store = str(tmp_path / "store")
    ended(run_stage(project, "first", store))
    other = make_project(tmp_path / "other", seed=8)
    assert "run R has other settings: seed is 7, here 8" in ended(run_stage(other, "second", store), 40)
    third = make_project(tmp_path / "third")
    (third / "dvc.yaml").write_text((third / "dvc.yaml").read_text() + "# more\n")
    assert "has another pipeline" in ended(run_stage(third, "second", store), 40)
    text = ended(start(other, "runs", "adopt", "R", "--store", store, "--params"), 40)
    assert "run R is not done: second, third" in text
    assert (other / "params.yaml").read_text().startswith("seed: 7")


def test_missing_things_exit_40_and_say_what_next(tmp_path: Path, project: Path, run_stage: Start) -> None:
    store = str(tmp_path / "store")
    text = ended(run_stage(project, "third", store), 40)
    assert "stage third needs first, second, not done in run R" in text
    assert "run `faithline run-stage first`" in text
    assert "there is no stage 'fourth'" in ended(run_stage(project, "fourth", store), 40)
    assert "is no run id" in ended(run_stage(project, "first", store, run_id="../x"), 40)
    ended(run_stage(project, "first", store))
    next((tmp_path / "store/dvc/files/md5").rglob("*.dir")).unlink()
    text = ended(run_stage(make_project(tmp_path / "clone"), "second", store), 40)
    assert "an object is not in the store" in text


@pytest.mark.parametrize(("body", "code"), [("raise SystemExit(20)", 20), ("raise SystemExit(75)", 75), ("1/0", 1)])
def test_the_stages_own_code_passes_through(
    tmp_path: Path, project: Path, run_stage: Start, body: str, code: int
) -> None:
    (project / "code/first.py").write_text(body)
    attempt = run_stage(project, "first", str(tmp_path / "store"), "--tombstone")
    assert attempt.wait() == code, attempt.text()
    store = open_store(str(tmp_path / "store"))
    assert store.read(lease_key("R", "first")) is None
    assert store.read(fragment_key("R", "first")) is None
    again = run_stage(project, "first", str(tmp_path / "store"), "--tombstone")
    assert again.wait() == code
    assert ("not tried again" in again.text()) is (code != 75)


SLOW = """
import os, pathlib, signal, sys, time
def stop(*_):
    pathlib.Path("told").touch()
    sys.exit(75)
signal.signal(signal.SIGTERM, stop)
pathlib.Path("began").touch()
while not pathlib.Path("go").exists():
    time.sleep(0.05)
"""


def slow(project: Path) -> Path:
    """Make the first stage wait for a file `go`; a shell stands between it and DVC."""
    path = project / "code/first.py"
    path.write_text(SLOW + path.read_text())
    text = (project / "dvc.yaml").read_text().replace("cmd: python code/first.py", "cmd: true && python code/first.py")
    (project / "dvc.yaml").write_text(text)
    return project


def test_a_stop_signal_reaches_the_stage_and_releases_the_lease(bucket: str, project: Path, run_stage: Start) -> None:
    store = f"s3://{bucket}"
    attempt = run_stage(slow(project), "first", store)
    attempt.wait_for(project / "began")
    attempt.send(signal.SIGTERM)
    assert "told to stop" in ended(attempt, 75)
    assert (project / "told").exists()
    assert open_store(store).read(lease_key("R", "first")) is None
    (project / "go").touch()
    ended(run_stage(project, "first", store))


def test_a_killed_runner_blocks_nobody_for_long_and_its_stage_is_ended(
    bucket: str, project: Path, run_stage: Start
) -> None:
    store = f"s3://{bucket}"
    attempt = run_stage(slow(project), "first", store, "--lease-s", "2")
    attempt.wait_for(project / "began")
    attempt.send(signal.SIGKILL)
    attempt.wait()
    (project / "began").unlink()
    (project / ".dvc/tmp/rwlock").write_text("")  # as if it had been killed while DVC wrote
    (project / "dvc.lock").write_text("schema: '2.0'\nstag")
    second = run_stage(project, "first", store, "--lease-s", "2")
    second.wait_for(project / "began")
    assert [read(path).split(b"\0")[1:] for path in commands(project)] == [[b"code/first.py", b""]]
    (project / "go").touch()
    ended(second)


def commands(project: Path) -> list[Path]:
    """Python processes that work in a folder."""
    found = (path for path in Path("/proc").glob("[0-9]*/cmdline") if b"python\0code/first.py" in read(path))
    return [path for path in found if (path.parent / "cwd").readlink() == project]


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_twins_do_the_work_once(bucket: str, project: Path, tmp_path: Path, run_stage: Start) -> None:
    store = f"s3://{bucket}"
    slow(project)
    twin = shutil.copytree(project, tmp_path / "twin")
    attempts = [run_stage(project, "first", store), run_stage(twin, "first", store)]
    while not any((folder / "began").exists() for folder in (project, twin)):
        time.sleep(0.05)
    time.sleep(1)
    assert [(folder / "began").exists() for folder in (project, twin)].count(True) == 1
    (project / "go").touch()
    (twin / "go").touch()
    texts = sorted(ended(attempt) for attempt in attempts)
    assert sum("run-stage ran" in text for text in texts) == 1
    assert sum("run-stage done before" in text for text in texts) == 1


def test_two_stages_in_one_folder_wait_or_name_the_holder(tmp_path: Path, project: Path, run_stage: Start) -> None:
    store = str(tmp_path / "store")
    first = run_stage(slow(project), "first", store)
    first.wait_for(project / "began")
    text = ended(run_stage(project, "first", store, "--wait-s", "0.3", run_id="R2"), 75)
    assert f"process {first.pid} runs a stage in this folder" in text
    waiting = run_stage(project, "first", store, run_id="R2")
    (project / "go").touch()
    ended(first)
    ended(waiting)


def test_no_secret_reaches_the_store_or_the_log(bucket: str, s3_port: int, project: Path, run_stage: Start) -> None:
    text = ended(run_stage(project, "first", f"s3://{bucket}"))
    s3 = client(s3_port)
    found = [
        s3.get_object(Bucket=bucket, Key=entry["Key"])["Body"].read()
        for entry in s3.list_objects_v2(Bucket=bucket)["Contents"]
    ]
    assert len(found) > 5
    assert not any(b"campaign-secret" in content for content in [*found, text.encode()])
    assert "campaign-secret" not in (project / "dvc.lock").read_text()


def test_a_full_disk_exits_40(tmp_path: Path, project: Path, run_stage: Start) -> None:
    small = tmp_path / "small"
    small.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=70m", "tmpfs", str(small)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs root")
    try:
        path = project / "code/first.py"
        path.write_text(path.read_text() + "\n(out / 'big').write_bytes(os.urandom(60 << 20))\n")
        store = str(tmp_path / "store")
        text = ended(run_stage(project, "first", store, "--workspace", str(small), "--cache", str(small / "c")), 40)
        assert "no disk space left" in text
        assert open_store(store).read(lease_key("R", "first")) is None
        ended(run_stage(project, "first", store, "--workspace", str(tmp_path / "large")))
        text = ended(run_stage(project, "second", store, "--workspace", str(small)), 40)
        assert "not enough disk space for the stage's inputs" in text
    finally:
        subprocess.run(["umount", str(small)], check=True)

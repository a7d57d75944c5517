"""Checkpoints: killed runs end in the same bytes; damage, other trainings and a full disk are met with a clear word."""

from __future__ import annotations

import errno
import itertools
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from faithline.pipeline.errors import ConfigError, EnvironmentMismatch
from faithline.rl.engine.local import LocalEngine
from faithline.rl.saving import clear
from faithline.store.objects import FolderStore
from tests.rl.conftest import Notes, export, parity, run

MakeEngine = Callable[..., LocalEngine]


SEED = 3
CHILD = """
import os, signal, sys
from pathlib import Path
import importlib.util
sys.path.insert(0, {root!r})
from faithline.rl import trainer
from faithline.rl.engine.local import LocalEngine
from faithline.store.objects import FolderStore
spec = importlib.util.spec_from_file_location("toys", {toys!r})
toys = importlib.util.module_from_spec(spec)
sys.modules["toys"] = toys
spec.loader.exec_module(toys)

def child(place, kill_play, kill_upload):
    plays = uploads = 0
    def worth(role, prompt, ids):
        nonlocal plays
        plays += 1
        if plays == kill_play:
            os.kill(os.getpid(), signal.SIGKILL)
        return sum(token % 2 for token in ids) / len(ids)
    upload = FolderStore.upload
    def counted(self, key, path, md5=None):
        nonlocal uploads
        uploads += 1
        if uploads == kill_upload:
            os.kill(os.getpid(), signal.SIGKILL)
        upload(self, key, path, md5)
    FolderStore.upload = counted
    patch = dict(kl=dict(controller="adaptive", coefficient=0.1, where="reward"))
    engine = LocalEngine(Path({backbone!r}), toys.settings(**patch), roles=("actor",), init={{}}, seed=1)
    questions = [[40, 41, 10 + number] for number in range(4)] * 3
    place = Path(place)
    result = trainer.train(engine, toys.Toy(worth), questions, questions, origin={{}},
        checkpoints=FolderStore(place / "store"), scratch=place / "scratch")
    out = place / "out"
    out.mkdir(exist_ok=True)
    engine.export("policy", out, "models/backbone")
    print("RESUMED", result.resumed_from, flush=True)

# Imports take ten seconds, so every run is a fork of a process that has computed nothing yet.
for run in {runs!r}:
    pid = os.fork()
    if pid == 0:
        child(*run)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    print("ENDED", os.WTERMSIG(status) if os.WIFSIGNALED(status) else -os.WEXITSTATUS(status), flush=True)
"""


def test_killed_runs_end_in_the_same_bytes(tiny_backbone: Path, tmp_path: Path) -> None:
    """kill -9 while playing, while measuring and while saving, at random moments; one run is left alone."""
    draw = random.Random(SEED)
    # A run has 12 + 6 * 4 + 3 * 12 = 72 rewards (32 of them before step 2 is saved) and at least 4 * 3 uploads.
    cut, whole = tmp_path / "cut", tmp_path / "whole"
    kills = [(draw.randint(34, 72), 0), (0, draw.randint(1, 7)), (draw.randint(1, 24), 0)]
    code = CHILD.format(
        root=str(Path(__file__).parents[2]),
        toys=str(Path(__file__).with_name("conftest.py")),
        backbone=str(tiny_backbone),
        runs=[*((str(cut), *moment) for moment in kills), (str(cut), 0, 0), (str(whole), 0, 0)],
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    lines = re.findall(r"^(?:ENDED|RESUMED) .*$", done.stdout, re.MULTILINE)
    assert lines[-2:] == ["RESUMED None", "ENDED 0"], done.stderr[-2000:]
    assert lines[-3] == "ENDED 0"
    assert int(lines[-4].removeprefix("RESUMED ")) > 0
    assert lines.count("ENDED 9") >= 2
    found, expected = ((folder / "out" / "adapter_model.safetensors").read_bytes() for folder in (cut, whole))
    assert found == expected


def test_being_told_to_stop_costs_no_step(make_engine: MakeEngine, toy: Any, tmp_path: Path) -> None:
    calls = itertools.count(1)

    def stopping(role: str, prompt: Sequence[int], ids: Sequence[int]) -> float:
        if next(calls) == 12 + 2 * 4 + 12 + 2:  # within step 3
            raise KeyboardInterrupt
        return parity(role, prompt, ids)

    with pytest.raises(KeyboardInterrupt):
        run(make_engine(checkpoints={"every": 5}), toy(stopping), tmp_path)
    one, other, notes = make_engine(checkpoints={"every": 5}), make_engine(), Notes()
    resumed = run(one, toy(parity), tmp_path, reports=[notes])
    assert (resumed.resumed_from, notes.began, notes.steps) == (2, [2], [3, 4, 5, 6])
    whole = run(other, toy(parity), tmp_path / "whole")
    assert resumed.curve == whole.curve
    assert export(one, tmp_path / "a") == export(other, tmp_path / "b")


def test_a_cleared_place_starts_anew_and_an_uncleared_one_is_at_its_end(
    make_engine: MakeEngine, toy: Any, tmp_path: Path
) -> None:
    first = run(make_engine(), toy(parity), tmp_path)
    again, notes = run(make_engine(), toy(parity), tmp_path), Notes()
    assert (again.resumed_from, again.curve) == (6, first.curve)
    clear(FolderStore(tmp_path / "store"))
    anew = run(make_engine(), toy(parity), tmp_path, reports=[notes])
    assert (anew.resumed_from, notes.began, anew.curve) == (None, [0], first.curve)
    assert not list((tmp_path / "scratch").iterdir())


@pytest.mark.parametrize("damage", ["truncated", "missing", "manifest"])
def test_a_damaged_checkpoint_gives_way_to_the_one_before(
    make_engine: MakeEngine, toy: Any, tmp_path: Path, damage: str
) -> None:
    expected = run(make_engine(), toy(parity), tmp_path)
    store = tmp_path / "store"
    manifests = sorted((store / "manifests").iterdir())
    assert [int(path.stem) for path in manifests] == [4, 6]
    if damage == "manifest":
        manifests[1].write_text("{")
    else:
        kept = set(re.findall(r"[0-9a-f]{64}", manifests[0].read_text()))
        own = [name for name in re.findall(r'\["([0-9a-f]{64})"', manifests[1].read_text()) if name not in kept]
        shard = store / "shards" / own[0]
        shard.unlink() if damage == "missing" else os.truncate(shard, shard.stat().st_size - 1)
    notes = Notes()
    result = run(make_engine(), toy(parity), tmp_path, reports=[notes])
    assert (result.resumed_from, notes.began) == (4, [4])
    assert notes.warnings == ["the checkpoint of step 6 is damaged or incomplete and is passed over"]
    assert result.curve == expected.curve


@pytest.mark.parametrize(
    ("patch", "seed", "origin", "named"),
    [
        ({"actor": {"learning_rate": 0.02}}, 1, "toy", r"settings.actor.learning_rate \(0.01 there, 0.02 here\)"),
        ({}, 2, "toy", r"seed \(1 there, 2 here\)"),
        ({}, 1, "other data", r"origin.data \(toy there, other data here\)"),
    ],
)
def test_an_unfinished_training_of_another_kind_is_in_the_way(
    make_engine: MakeEngine, toy: Any, tmp_path: Path, patch: Any, seed: int, origin: str, named: str
) -> None:
    run(make_engine(), toy(parity), tmp_path)
    before = sorted((tmp_path / "store").rglob("*"))
    with pytest.raises(ConfigError, match=named) as raised:
        run(make_engine(seed=seed, **patch), toy(parity), tmp_path, origin={"data": origin})
    assert str(tmp_path / "store") in str(raised.value)
    assert sorted((tmp_path / "store").rglob("*")) == before


def test_a_checkpoint_of_another_backbone_is_refused(
    make_engine: MakeEngine, toy: Any, tiny_backbone: Path, tmp_path: Path
) -> None:
    run(make_engine(), toy(parity), tmp_path)
    other = tmp_path / "backbone"
    shutil.copytree(tiny_backbone, other)
    config = (other / "config.json").read_text()
    (other / "config.json").write_text(config.replace('"rms_norm_eps": 1e-06', '"rms_norm_eps": 1e-05'))
    with pytest.raises(ConfigError, match="differs in backbone "):
        run(make_engine(folder=other), toy(parity), tmp_path)


def test_when_checkpoints_are_written_does_not_decide_the_course(
    make_engine: MakeEngine, toy: Any, tmp_path: Path
) -> None:
    run(make_engine(), toy(parity), tmp_path)
    assert run(make_engine(checkpoints={"every": 1, "keep": 3}), toy(parity), tmp_path).resumed_from == 6


def test_a_full_disk_is_a_clear_error_and_the_last_checkpoint_stays(
    make_engine: MakeEngine, toy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = FolderStore.upload

    def full(self: FolderStore, key: str, path: Path, md5: str | None = None) -> None:
        if (tmp_path / "store" / "manifests" / f"{2:012d}.json").exists():
            raise OSError(errno.ENOSPC, "No space left on device", key)
        upload(self, key, path, md5)

    monkeypatch.setattr(FolderStore, "upload", full)
    with pytest.raises(
        EnvironmentMismatch, match=r"step 4 cannot be written \(no disk space left\); the one of step 2"
    ):
        run(make_engine(), toy(parity), tmp_path)
    assert not list((tmp_path / "scratch").iterdir())
    monkeypatch.undo()
    assert run(make_engine(), toy(parity), tmp_path).resumed_from == 2

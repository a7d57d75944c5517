"""Lock fragments: DVC's own bytes, first one counts, disagreements are named."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from faithline.pipeline.errors import ConfigError
from faithline.pipeline.graph import load_graph
from faithline.runs.fragments import (
    Fragment,
    check_agreement,
    commit_fragment,
    lock_text,
    read_fragment,
    read_fragments,
    read_lock,
)
from faithline.runs.layout import checked_run_id, fragment_key
from faithline.store.objects import FolderStore


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pipeline of three stages after `dvc repro`."""
    from benchmarks.store_servers import make_project

    folder = make_project(tmp_path_factory.mktemp("locked") / "project")
    subprocess.run([sys.executable, "-m", "dvc", "repro", "-q"], cwd=folder, check=True, timeout=300)
    return folder


@pytest.fixture
def fragments(locked: Path) -> dict[str, Fragment]:
    return {name: Fragment(name, copy.deepcopy(entry)) for name, entry in read_lock(locked).items()}


def test_all_fragments_together_are_dvcs_lock_byte_for_byte(
    locked: Path, fragments: dict[str, Fragment], tmp_path: Path
) -> None:
    store = FolderStore(tmp_path)
    for fragment in fragments.values():
        commit_fragment(store, "R", fragment)
    back = read_fragments(store, "R")
    order = load_graph(locked).order()
    assert lock_text([back[name] for name in order]) == (locked / "dvc.lock").read_text()
    kept = {name: fragments[name].entry for name in order[:1]}
    assert lock_text([back[name] for name in order[1:]], kept) == (locked / "dvc.lock").read_text()


def test_the_first_fragment_counts(fragments: dict[str, Fragment], tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    assert read_fragment(store, "R", "second") is None
    commit_fragment(store, "R", fragments["second"])
    other = Fragment("second", changed(fragments["second"], "outs", 0, "0" * 32))
    assert commit_fragment(store, "R", other).outs == fragments["second"].outs


def test_stages_that_fit_agree(locked: Path, fragments: dict[str, Fragment]) -> None:
    check_agreement(fragments, load_graph(locked))
    check_agreement({}, load_graph(locked))


def changed(fragment: Fragment, kind: str, index: int, md5: str) -> dict[str, Any]:
    entry: dict[str, Any] = copy.deepcopy(dict(fragment.entry))
    entry[kind][index]["md5"] = md5
    return entry


def test_a_stage_that_read_something_else_is_named(locked: Path, fragments: dict[str, Fragment]) -> None:
    paths = [dep.path for dep in fragments["third"].deps]
    entry = changed(fragments["third"], "deps", paths.index("data/second.bin"), "0" * 32)
    fragments["third"] = Fragment("third", entry)
    with pytest.raises(ConfigError, match=r"second wrote data/second\.bin as \w{12}, third read it as 000000000000"):
        check_agreement(fragments, load_graph(locked))


def test_code_that_changed_between_stages_is_named(locked: Path, fragments: dict[str, Fragment]) -> None:
    for name in ("first", "second"):
        entry: dict[str, Any] = copy.deepcopy(dict(fragments[name].entry))
        entry["deps"].append({"path": "shared", "hash": "md5", "md5": f"{len(name)}.dir", "size": 1})
        fragments[name] = Fragment(name, entry)
    with pytest.raises(ConfigError, match="first read shared as"):
        check_agreement(fragments, load_graph(locked))


@pytest.mark.parametrize("path", ["../../etc", "data/other", "/data/first"])
def test_a_fragment_with_other_outputs_than_dvc_yaml_is_damaged(
    locked: Path, fragments: dict[str, Fragment], path: str
) -> None:
    entry: dict[str, Any] = copy.deepcopy(dict(fragments["first"].entry))
    entry["outs"][0]["path"] = path
    with pytest.raises(ConfigError, match=r"outputs and dvc\.yaml's differ in .*data/first"):
        check_agreement({"first": Fragment("first", entry)}, load_graph(locked))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"stages: [",
        b"schema: '2.0'\nstages: {other: {cmd: x}}",
        b"stages: {first: {cmd: x}}",
        b"schema: '2.0'\nstages: {first: {outs: [{path: x}]}}",
        b"schema: '2.0'\nstages: {first: 3}",
    ],
)
def test_a_damaged_fragment_exits_40(content: bytes, tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    store.write(fragment_key("R", "first"), content)
    with pytest.raises(ConfigError, match="damaged"):
        read_fragment(store, "R", "first")


def test_run_ids() -> None:
    for good in ("R1", "scheduled__2026-01-01T00:00:00+00:00", "3f2a"):
        assert checked_run_id(good) == good
    for bad in ("", "../x", "a/b", ".hidden", "a b", "x" * 201):
        with pytest.raises(ConfigError, match="is no run id"):
            checked_run_id(bad)

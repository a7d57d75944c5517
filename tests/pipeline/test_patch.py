from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from faithline.pipeline.errors import ConfigError
from faithline.pipeline.graph import load_graph
from faithline.pipeline.patch import apply_patch, check_project

ROOT = Path(__file__).resolve().parents[2]
STAGES = list(load_graph(ROOT).stages)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in ("dvc.yaml", "params.yaml"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def test_an_entry_of_a_mapping_by_name_may_be_new(copy: Path) -> None:
    apply_patch(copy, patch(copy, "gates: {sets: {popqa: {irrelevant_share: null}}}\n"))
    assert "popqa" in (copy / "params.yaml").read_text(encoding="utf-8")
    with pytest.raises(ConfigError, match="unknown key `irrelevant`") as error:
        apply_patch(copy, patch(copy, "gates: {sets: {popqa: {irrelevant: null}}}\n"))
    assert error.value.where == f"{copy / 'patch.yaml'}: gates.sets.popqa"


def patch(folder: Path, text: str) -> Path:
    path = folder / "patch.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_patch_changes_only_its_keys_and_keeps_comments(copy: Path) -> None:
    before = (copy / "params.yaml").read_text(encoding="utf-8").splitlines()
    changes = apply_patch(copy, patch(copy, "warm_start: {optimisation: {learning_rate: 2.5e-5}}\n"))
    after = (copy / "params.yaml").read_text(encoding="utf-8").splitlines()
    assert [key for key, _, _ in changes] == ["warm_start.optimisation.learning_rate"]
    different = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    assert len(different) == 1
    assert different[0][0].split("#")[1:] == different[0][1].split("#")[1:]
    assert "2.5e-0" in different[0][1]


def test_applying_twice_changes_nothing_the_second_time(copy: Path) -> None:
    document = patch(copy, "warm_start: {optimisation: {learning_rate: 2.5e-5}}\n")
    apply_patch(copy, document)
    first = (copy / "params.yaml").read_bytes()
    assert apply_patch(copy, document) == []
    assert (copy / "params.yaml").read_bytes() == first


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("warm_strat: {}\n", "did you mean `warm_start`"),
        ("warm_start: {optimisation: {learning_rat: 1.0}}\n", "did you mean `learning_rate`"),
        ('warm_start: {optimisation: {learning_rate: "1e-5"}}\n', "is text"),
        ("seed: x\n", "int"),
        ("seed: [1\n", "not valid YAML"),
    ],
)
def test_a_bad_patch_changes_nothing(copy: Path, text: str, message: str) -> None:
    before = (copy / "params.yaml").read_bytes()
    with pytest.raises(ConfigError) as caught:
        apply_patch(copy, patch(copy, text))
    assert message in str(caught.value)
    assert (copy / "params.yaml").read_bytes() == before
    assert sorted(p.name for p in copy.iterdir()) == ["dvc.yaml", "params.yaml", "patch.yaml"]


@pytest.mark.parametrize("profile", sorted(p.name for p in (ROOT / "conf").glob("*.yaml")))
def test_every_shipped_profile_applies(copy: Path, profile: str) -> None:
    apply_patch(copy, ROOT / "conf" / profile)
    assert check_project(copy) == STAGES


def test_the_command_reports_and_exits_40(copy: Path) -> None:
    def faithline(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "faithline.cli", "--root", str(copy), *arguments]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    done = faithline("params", "check")
    assert (done.returncode, done.stdout) == (0, f"params.yaml: the settings of {len(STAGES)} stages are valid\n")
    done = faithline("params", "apply", str(patch(copy, "sede: 1\n")))
    assert done.returncode == 40
    assert done.stderr.splitlines()[0] == "error: unknown key `sede`"
    done = faithline("params", "apply", str(copy / "none.yaml"))
    assert (done.returncode, "file not found" in done.stderr) == (40, True)

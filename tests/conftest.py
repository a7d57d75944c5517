"""Shared fixtures: the real data folder, and throw-away projects that run components through the real wrapper."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parent.parent
os.environ.update(
    HF_HUB_OFFLINE="1",
    DVC_NO_ANALYTICS="1",
    GX_ANALYTICS_ENABLED="false",
    TOKENIZERS_PARALLELISM="false",
)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of the real data excerpts."""
    folder = Path(os.environ.get("FAITHLINE_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}: set FAITHLINE_DATA")
    return folder


def merge(base: dict[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Deep-merge `patch` into a copy of `base`; lists are replaced."""
    merged = copy.deepcopy(base)
    for key, value in patch.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), dict)
        merged[key] = merge(merged[key], value) if both else copy.deepcopy(value)
    return merged


@pytest.fixture
def make_project(tmp_path: Path) -> Callable[..., Path]:
    """Factory: a folder with the repository's own dvc.yaml and params.yaml, params patched (tiny profile first)."""

    def make(patch: Mapping[str, Any] | None = None, *, tiny: bool = True, name: str = "project") -> Path:
        yaml = YAML(typ="safe", pure=True)
        params = yaml.load((ROOT / "params.yaml").read_text(encoding="utf-8"))
        if tiny:
            params = merge(params, yaml.load((ROOT / "conf" / "tiny.yaml").read_text(encoding="utf-8")))
        folder = tmp_path / name
        folder.mkdir()
        (folder / "dvc.yaml").write_bytes((ROOT / "dvc.yaml").read_bytes())
        with (folder / "params.yaml").open("w", encoding="utf-8") as file:
            YAML().dump(merge(params, patch or {}), file)
        return folder

    return make


@pytest.fixture
def run_component() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `python -m components.NAME --root FOLDER` as a user's shell would; returns the finished process."""

    def run(root: Path, name: str, *arguments: str, timeout_s: float = 600) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", f"components.{name}", "--root", str(root), *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    return run

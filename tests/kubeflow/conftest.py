"""A small project that a cluster could run."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

TOY = Path(__file__).resolve().parents[1] / "cluster" / "toy"


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """Folder with the toy's `dvc.yaml` and `params.yaml`."""
    folder = tmp_path / "toy"
    shutil.copytree(TOY, folder)
    (folder / "in.txt").write_text("words\n", encoding="utf-8")
    return folder


@pytest.fixture
def edit() -> Callable[[Path, Callable[[Any], None]], None]:
    """Change a YAML file in place: `edit(path, lambda document: ...)`."""

    def change(path: Path, by: Callable[[Any], None]) -> None:
        yaml = YAML()
        document: Mapping[str, Any] = yaml.load(path.read_text(encoding="utf-8"))
        by(document)
        with path.open("w", encoding="utf-8") as file:
            yaml.dump(document, file)

    return change

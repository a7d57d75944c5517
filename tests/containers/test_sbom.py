"""The bill of materials of an image, from what is installed."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "containers" / "sbom.py"
STATUS = """\
Package: zlib1g
Status: install ok installed
Architecture: amd64
Version: 1:1.2.13.dfsg-1
Description: compression library
 Package: not a field
 .

Package: gone
Status: deinstall ok config-files
Architecture: all
Version: 1

Package: adduser
Status: install ok installed
Architecture: all
Version: 3.134+b1
"""


@pytest.fixture(scope="module")
def sbom() -> ModuleType:
    spec = importlib.util.spec_from_file_location("container_sbom", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_debian_packages_that_are_installed(sbom: ModuleType) -> None:
    found = [(c["name"], c["version"], c["purl"]) for c in sbom.debian_components(STATUS, "debian")]
    assert found == [
        ("adduser", "3.134+b1", "pkg:deb/debian/adduser@3.134%2Bb1?arch=all"),
        ("zlib1g", "1:1.2.13.dfsg-1", "pkg:deb/debian/zlib1g@1%3A1.2.13.dfsg-1?arch=amd64"),
    ]


def test_python_packages_of_this_environment(sbom: ModuleType) -> None:
    found = {c["name"]: c for c in sbom.python_components()}
    assert found["pytest"]["purl"] == f"pkg:pypi/pytest@{metadata.version('pytest')}"
    assert found["pytest"]["licenses"] == [{"expression": "MIT"}]
    assert found["ruamel-yaml"]["version"] == metadata.version("ruamel.yaml")
    assert list(found) == sorted(found)


def test_the_same_content_gives_the_same_bill(sbom: ModuleType) -> None:
    parts = sbom.debian_components(STATUS, "debian")
    first, second = (sbom.bill("image", "1", parts) for _ in range(2))
    assert first == second
    assert first["serialNumber"] != sbom.bill("image", "2", parts)["serialNumber"]


def test_the_command_writes_a_file(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "image.cdx.json"
    subprocess.run([sys.executable, str(SCRIPT), "image", "1.0", str(target)], check=True)
    bill = json.loads(target.read_text(encoding="utf-8"))
    assert bill["metadata"]["component"] == {"bom-ref": "image", "name": "image", "type": "container", "version": "1.0"}
    references = [component["bom-ref"] for component in bill["components"]]
    assert len(references) == len(set(references)) > 100

"""Evidence bundles: every file's every kind of change is found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faithline import cli
from faithline.pipeline.errors import DataInvalid
from faithline.promotion.bundle import MANIFEST, read_manifest, seal, verify_bundle


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "bundle"
    for name, content in {
        "a.txt": b"one",
        "deep/er/b.bin": bytes(range(256)),
        "empty": b"",
        "README.md": b"# x\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    seal(root)
    return root


def test_whole(folder: Path) -> None:
    manifest = verify_bundle(folder)
    assert sorted(manifest.files) == ["README.md", "a.txt", "deep/er/b.bin", "empty"]
    # sha256 of "one", from the standard tool
    assert manifest.files["a.txt"].sha256 == "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
    assert manifest.bundle.startswith(manifest.version)
    assert len(manifest.version) == 12
    assert verify_bundle(folder, manifest.bundle) == manifest


def test_every_byte_of_every_small_file_counts(folder: Path) -> None:
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        content = path.read_bytes()
        for place in range(len(content)):
            path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            with pytest.raises(DataInvalid, match=r"changed|outside|missing|added"):
                verify_bundle(folder)
        path.write_bytes(content + b"\n")
        with pytest.raises(DataInvalid, match="changed"):
            verify_bundle(folder)
        path.write_bytes(content)
    verify_bundle(folder)


def test_files_that_come_and_go(folder: Path) -> None:
    (folder / "new").touch()
    with pytest.raises(DataInvalid, match="new was added"):
        verify_bundle(folder)
    (folder / "new").unlink()
    (folder / "empty").unlink()
    with pytest.raises(DataInvalid, match="empty is missing"):
        verify_bundle(folder)
    (folder / MANIFEST).unlink()
    with pytest.raises(DataInvalid, match="no bundle"):
        verify_bundle(folder)


def test_a_bundle_replaced_as_a_whole_has_another_digest(folder: Path) -> None:
    digest = verify_bundle(folder).bundle
    (folder / "a.txt").write_bytes(b"two")
    seal(folder)
    verify_bundle(folder)
    with pytest.raises(DataInvalid, match="not the bundle with this digest"):
        verify_bundle(folder, digest)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(files=st.dictionaries(st.sampled_from("abcdef"), st.binary(max_size=8), min_size=1))
def test_equal_files_have_an_equal_version(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    sealed = []
    for names in (sorted(files), sorted(files, reverse=True)):
        root = tmp_path_factory.mktemp("bundle")
        for name in names:
            (root / name).write_bytes(files[name])
        sealed.append((seal(root), (root / MANIFEST).read_bytes()))
    assert sealed[0] == sealed[1]


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/../../evil"])
def test_a_manifest_that_leads_outside_is_refused(folder: Path, name: str) -> None:
    document = json.loads((folder / MANIFEST).read_text())
    document["files"][name] = document["files"].pop("a.txt")
    with pytest.raises(DataInvalid, match="outside the bundle"):
        read_manifest(json.dumps(document).encode(), "here")


def test_an_empty_folder_is_no_bundle(tmp_path: Path) -> None:
    with pytest.raises(DataInvalid, match="empty bundle"):
        seal(tmp_path)


def test_as_a_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["verify-bundle", str(folder)]) == 0
    assert "4 files" in capsys.readouterr().out
    (folder / "a.txt").write_bytes(b"onf")
    assert cli.main(["verify-bundle", str(folder)]) == 20
    assert "a.txt was changed" in capsys.readouterr().err
    assert cli.main(["verify-bundle", str(folder / "none")]) == 20

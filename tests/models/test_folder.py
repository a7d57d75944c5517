"""Which files make up a model, and copying them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithline.models import folder as folders
from faithline.models.folder import copy_folder, listing, measure, select
from faithline.models.site import Site
from faithline.pipeline.errors import EnvironmentMismatch

SINGLE = ["config.json", "model.safetensors", "tokenizer.json"]
SHARDED = [
    "config.json",
    "model-00001-of-00002.safetensors",
    "model-00002-of-00002.safetensors",
    "model.safetensors.index.json",
    "tokenizer.model",
]


def test_a_hub_repository_is_reduced_to_its_model() -> None:
    extra = [
        "1_Pooling/config.json",
        "LICENSE",
        "README.md",
        "modules.json",
        "vocab.txt",
    ]
    unwanted = [
        ".gitattributes",
        "consolidated.safetensors",
        "flax_model.msgpack",
        "modeling_custom.py",
        "onnx/config.json",
        "onnx/model.onnx",
        "original/model.safetensors",
        "pytorch_model.bin",
        "record.json",
        "train_script.py",
    ]
    assert select([*SINGLE, *extra, *unwanted], "here") == sorted(SINGLE + extra)
    assert select([*SHARDED, *unwanted], "here") == sorted(SHARDED)


def test_one_file_wins_over_shards_beside_it() -> None:
    assert select([*SINGLE, *SHARDED], "here") == sorted([*SINGLE, "tokenizer.model"])


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (["config.json", "tokenizer.json", "pytorch_model.bin"], r"only pickled weights \(pytorch_model.bin\)"),
        (["config.json", "tokenizer.json", "adapter_model.safetensors"], "no weights"),
        (["model.safetensors", "tokenizer.json"], "no config.json"),
        (["config.json", "model.safetensors"], "no tokeniser"),
        ([], "no config.json"),
    ],
)
def test_an_incomplete_model_is_refused(names: list[str], complaint: str) -> None:
    with pytest.raises(EnvironmentMismatch, match=complaint):
        select(names, "here")


parts = st.sampled_from(
    ["..", ".", "a", "1_Pooling", "config.json", "model.safetensors", "x.bin", "x.py", "x.json", ""]
)


@given(st.lists(st.lists(parts, min_size=1, max_size=3).map("/".join)))
def test_no_listing_can_smuggle_in_a_script_a_pickle_or_an_outside_path(names: list[str]) -> None:
    for name in select([*SINGLE, *names], "here"):
        assert not name.endswith((".py", ".bin"))
        assert not PurePosixPath(name).is_absolute()
        assert ".." not in PurePosixPath(name).parts


def test_counts_are_those_of_the_loaded_model(tiny_backbone: Path) -> None:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(tiny_backbone)
    weights = measure(tiny_backbone)
    assert weights.parameters == sum(parameter.numel() for parameter in model.parameters())
    assert weights.bytes == (tiny_backbone / "model.safetensors").stat().st_size


def test_shards_are_counted_and_a_missing_one_is_named(tiny_backbone: Path, tmp_path: Path, site: Site) -> None:
    from transformers import AutoModelForCausalLM

    sharded = tmp_path / "sharded"
    shutil.copytree(tiny_backbone, sharded, ignore=shutil.ignore_patterns("*.safetensors"))
    AutoModelForCausalLM.from_pretrained(tiny_backbone).save_pretrained(sharded, max_shard_size="100KB")
    shards = sorted(sharded.glob("model-*.safetensors"))
    assert len(shards) > 1
    assert measure(sharded).parameters == measure(tiny_backbone).parameters
    out = tmp_path / "out"
    out.mkdir()
    copy_folder(sharded, out, {}, site)
    assert listing(out) == listing(sharded)
    shards[0].unlink()
    with pytest.raises(EnvironmentMismatch, match=f"shards are missing: {shards[0].name}"):
        measure(sharded)


@pytest.mark.parametrize("index", ["{", "[]", '{"weight_map": {"a": "../x"}}', '{"weight_map": {"a": 3}}'])
def test_a_broken_index_is_refused(tmp_path: Path, index: str) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(index, encoding="utf-8")
    with pytest.raises(EnvironmentMismatch):
        measure(tmp_path)


def test_cut_off_and_stand_in_weights_are_told_apart(tiny_backbone: Path, tmp_path: Path) -> None:
    target = tmp_path / "model.safetensors"
    target.write_bytes((tiny_backbone / "model.safetensors").read_bytes()[:-1])
    with pytest.raises(EnvironmentMismatch, match="not a whole safetensors file"):
        measure(tmp_path)
    target.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", encoding="utf-8")
    with pytest.raises(EnvironmentMismatch, match="Git LFS pointer"):
        measure(tmp_path)


def test_a_copy_is_independent_and_follows_links(tiny_backbone: Path, tmp_path: Path, site: Site) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for path in tiny_backbone.iterdir():
        (source / path.name).symlink_to(path)  # as in the hub's cache
    os.mkfifo(source / "pipe.json")
    out = tmp_path / "out"
    out.mkdir()
    copy_folder(source, out, {}, site)
    for path in out.iterdir():
        assert path.read_bytes() == (tiny_backbone / path.name).read_bytes()
        assert not path.is_symlink()
        assert path.stat().st_nlink == 1


def test_a_wrong_digest_stops_the_copy(tiny_backbone: Path, tmp_path: Path, site: Site) -> None:
    with pytest.raises(EnvironmentMismatch, match="wrong SHA-256") as caught:
        copy_folder(tiny_backbone, tmp_path, {"model.safetensors": "0" * 64}, site)
    assert str(tiny_backbone / "model.safetensors") in caught.value.where
    assert not (tmp_path / "model.safetensors").exists()
    with pytest.raises(EnvironmentMismatch, match=r"missing: model-1-of-2\.safetensors"):
        copy_folder(tiny_backbone, tmp_path, {"model-1-of-2.safetensors": "0" * 64}, site)


def test_a_full_disk_is_seen_before_anything_is_written(
    tiny_backbone: Path, tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    usage = shutil._ntuple_diskusage(total=10**12, used=10**12 - 2**26, free=2**26)  # type: ignore[attr-defined]
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)
    with pytest.raises(EnvironmentMismatch, match=r"65 MiB needed, 64 MiB free"):
        copy_folder(tiny_backbone, out, {}, site)
    assert not list(out.iterdir())


def test_the_record_of_another_stage_never_comes_along(tiny_backbone: Path, tmp_path: Path, site: Site) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    shutil.copytree(tiny_backbone, source)
    (source / folders.RECORD).write_text(json.dumps({"stage": "other"}), encoding="utf-8")
    out.mkdir()
    copy_folder(source, out, {}, site)
    assert not (out / folders.RECORD).exists()

"""What `params.yaml` may say about a model, read through the pipeline's own loader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from faithline.models.spec import HubSource, ModelSpec, PackageSource, PathSource, describe
from faithline.pipeline.errors import ConfigError
from faithline.pipeline.params import convert

SHA = "ab" * 32
COMMIT = "0123456789abcdef0123456789abcdef01234567"
PATH = {"kind": "path", "path": "m", "digests": {"model.safetensors": SHA}}
HUB = {"kind": "hub", "repo": "org/model", "revision": COMMIT, "digests": {}}
PACKAGE = {
    "kind": "package",
    "package": "some-weights",
    "version": "1.2",
    "sha256": SHA,
    "size_bytes": 10,
    "member": "some_weights/model",
    "dtype": None,
}


class Params(msgspec.Struct, frozen=True, kw_only=True):
    backbone: ModelSpec


def read(*sources: dict[str, Any]) -> ModelSpec:
    raw = {"backbone": {"name": "m", "sources": list(sources)}}
    return convert(raw, Params, Path("params.yaml")).backbone


def test_the_three_kinds_are_read_in_the_order_given() -> None:
    spec = read(PATH, HUB, PACKAGE)
    assert [type(source) for source in spec.sources] == [PathSource, HubSource, PackageSource]


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        (HUB | {"revision": "main"}, "sources\\[0\\].revision"),
        (HUB | {"revision": COMMIT[:39]}, "sources\\[0\\].revision"),
        (HUB | {"revision": COMMIT.upper()}, "sources\\[0\\].revision"),
        (HUB | {"repo": "../../etc"}, "sources\\[0\\].repo"),
        (PACKAGE | {"sha256": SHA[:-1]}, "sources\\[0\\].sha256"),
        (PACKAGE | {"package": "--index-url=x"}, "sources\\[0\\].package"),
        (PACKAGE | {"version": "1.0 --pre"}, "sources\\[0\\].version"),
        (PACKAGE | {"version": 1.2}, "sources\\[0\\].version"),
        (PACKAGE | {"size_bytes": 0}, "sources\\[0\\].size_bytes"),
        (PACKAGE | {"dtype": "float32"}, "dtype"),
        (PACKAGE | {"member": "a/b.gguf"}, "dtype"),
        (PACKAGE | {"member": "a/b.gguf", "dtype": "float8"}, "sources\\[0\\].dtype"),
        (PATH | {"digests": {"model.safetensors": "123"}}, "digests"),
        ({"kind": "url", "url": "x"}, "url"),
        (PACKAGE | {"member_": "x"}, "did you mean `member`"),
    ],
)
def test_a_wrong_source_is_a_configuration_error_that_names_the_key(source: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        read(source)


def test_a_model_needs_a_source() -> None:
    with pytest.raises(ConfigError, match="sources"):
        read()


def test_descriptions_hold_no_path_of_the_machine() -> None:
    assert describe(read(PATH | {"path": "/home/someone/m"}).sources[0]) == f"path model.safetensors@{SHA[:12]}"
    assert describe(read(HUB).sources[0]) == f"hub org/model@{COMMIT}"
    assert describe(read(PACKAGE).sources[0]) == "package some-weights==1.2"

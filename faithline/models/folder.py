"""Model folders in Hugging Face layout: which files belong to one, and copying them with their digests checked.

A folder is complete with a `config.json`, weights (`model.safetensors`, or the shards that
`model.safetensors.index.json` names) and a tokeniser. What else may come along is small text: chat template, pooling
settings, licence. Pickled weights, scripts, ONNX files and framework duplicates never come along. Copies are real
copies, not links: a link would let a later change of the original reach DVC's cache.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import msgspec

from faithline.models.site import Site
from faithline.pipeline.errors import EnvironmentMismatch
from faithline.pipeline.machine import MIB, require_space
from faithline.pipeline.progress import Progress
from faithline.pipeline.records import RECORD

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
_SHARD = re.compile(r"model-\d+-of-\d+\.safetensors")
_TEXT = re.compile(r"[^/]+\.(json|txt|jinja|model)|(README|LICENSE|NOTICE)[^/]*|\d+_\w+/config\.json")
_TOKENIZERS = frozenset({"tokenizer.json", "tokenizer.model", "vocab.txt", "vocab.json"})
_PICKLED = re.compile(r"[^/]+\.(bin|pt|pth|pkl|ckpt)")


@dataclass(frozen=True)
class Weights:
    """What the safetensors files of a folder hold."""

    parameters: int
    """Elements of all floating-point tensors; tied ones are stored, and counted, once."""
    bytes: int
    """Size of the files."""


class _Index(msgspec.Struct):
    weight_map: dict[str, str]
    """Tensor name → shard."""


def is_weights(name: str) -> bool:
    """Whether a file name is one that model weights have."""
    return name == SINGLE or _SHARD.fullmatch(name) is not None


def select(names: Iterable[str], where: str) -> list[str]:
    """Choose the files that make up a model from a listing of relative POSIX paths.

    Raises:
        EnvironmentMismatch: If the listing has no configuration, no tokeniser or no safetensors weights.
    """
    listing = set(names)
    chosen = {name for name in listing if is_weights(name) or _TEXT.fullmatch(name)} - {RECORD}
    if SINGLE in chosen:
        chosen = {name for name in chosen if not _SHARD.fullmatch(name)} - {INDEX}
    if "config.json" not in chosen:
        raise EnvironmentMismatch(
            "no config.json: not a model folder in Hugging Face layout", where=where, next_step="check the source"
        )
    if not any(is_weights(name) for name in chosen):
        pickled = sorted(name for name in listing if _PICKLED.fullmatch(name))
        what = f"only pickled weights ({', '.join(pickled)}), which are never loaded" if pickled else "no weights"
        raise EnvironmentMismatch(
            f"{what}: {SINGLE} expected",
            where=where,
            next_step="choose a revision with safetensors, or convert the model and list it as a `path` source",
        )
    if not chosen & _TOKENIZERS:
        raise EnvironmentMismatch(
            "no tokeniser files", where=where, next_step=f"one of {', '.join(sorted(_TOKENIZERS))} is needed"
        )
    return sorted(chosen)


def listing(folder: Path) -> list[str]:
    """Relative POSIX paths of the files in `folder` and in its immediate subfolders."""
    found = (*folder.glob("*"), *folder.glob("*/*"))
    return sorted(path.relative_to(folder).as_posix() for path in found if path.is_file())


def copy_folder(source: Path, out: Path, digests: Mapping[str, str], site: Site) -> None:
    """Copy the model files of `source` to `out`, checking the digests of the copies.

    Raises:
        EnvironmentMismatch: On an incomplete folder, a wrong digest, or too little disk space.
    """
    names = select(listing(source), str(source))
    absent = sorted(set(digests) - set(names))
    if absent:
        raise EnvironmentMismatch(
            f"files with a pinned digest are missing: {', '.join(absent)}",
            where=str(source),
            next_step="correct `digests`, or restore the files",
        )
    total = sum((source / name).stat().st_size for name in names)
    require_space(out, total, "for the model")
    with site.progress(total // MIB, "MiB", "copy") as progress:
        for name in names:
            with (source / name).open("rb") as stream:
                write_checked(stream, out / name, digests.get(name), where=str(source / name), progress=progress)


def write_checked(
    stream: IO[bytes], target: Path, sha256: str | None, *, where: str, progress: Progress | None = None
) -> None:
    """Write a stream to a file and compare its SHA-256 with the pinned one, if there is one.

    Raises:
        EnvironmentMismatch: If they differ; the file is removed.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with target.open("wb") as file:
        while chunk := stream.read(MIB):
            digest.update(chunk)
            file.write(chunk)
            if progress is not None and len(chunk) == MIB:
                progress.advance(1)
    if sha256 is not None and digest.hexdigest() != sha256:
        target.unlink()
        raise wrong_digest(sha256, digest.hexdigest(), where)


def wrong_digest(expected: str, actual: str, where: str) -> EnvironmentMismatch:
    """Build the error for a file that is not the one pinned in `params.yaml`."""
    return EnvironmentMismatch(
        f"wrong SHA-256: {expected} pinned, {actual} found",
        where=where,
        next_step="the file is damaged or another one: restore it, or pin the new digest if the change is wanted",
    )


def measure(folder: Path) -> Weights:
    """Check that every weights file of a folder is whole, and count what they hold; only headers are read.

    Raises:
        EnvironmentMismatch: If a shard is missing or a file is not whole safetensors.
    """
    names = _weight_names(folder)
    parameters = sum(_elements(folder / name) for name in names)
    return Weights(parameters=parameters, bytes=sum((folder / name).stat().st_size for name in names))


def _weight_names(folder: Path) -> list[str]:
    if (folder / SINGLE).is_file():
        return [SINGLE]
    index = folder / INDEX
    try:
        names = sorted(set(msgspec.json.decode(index.read_bytes(), type=_Index).weight_map.values()))
    except (OSError, msgspec.MsgspecError) as error:
        raise EnvironmentMismatch(
            f"sharded weights without a readable index: {error}",
            where=INDEX,
            next_step="restore the file at the source",
        ) from None
    missing = [name for name in names if not is_weights(name) or not (folder / name).is_file()]
    if missing:
        raise EnvironmentMismatch(
            f"shards are missing: {', '.join(missing)}",
            where=INDEX,
            next_step="complete the download of the model at its source",
        )
    return names


def _elements(path: Path) -> int:
    from safetensors import SafetensorError, safe_open

    with path.open("rb") as file:
        if file.read(20) == b"version https://git-":
            raise EnvironmentMismatch(
                "a Git LFS pointer stands in place of the weights",
                where=path.name,
                next_step="run `git lfs pull` in the model's folder",
            )
    try:
        with safe_open(path, framework="numpy") as tensors:
            slices = [tensors.get_slice(key) for key in tensors.keys()]  # noqa: SIM118 - not a mapping
            return sum(math.prod(part.get_shape()) for part in slices if part.get_dtype().startswith(("F", "BF")))
    except SafetensorError as error:
        raise EnvironmentMismatch(
            f"not a whole safetensors file: {error}",
            where=path.name,
            next_step="restore the file at its source; it may be cut off",
        ) from None

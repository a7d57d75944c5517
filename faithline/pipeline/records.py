"""Records: an output folder is complete only when its `record.json` was written last.

A record names the stage, the digests of its inputs and of every output file, the parameters it saw, the versions of
the libraries that decide results, and the stage's metrics. It holds no time, host or path outside the project, so the
same inputs give the same bytes. An input that carries a record is identified by the digest of that record (which in
turn holds the digests of its files), so a 500 MB model is hashed once, by the stage that made it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

import msgspec

RECORD = "record.json"
VERSIONED = ("torch", "transformers", "tokenizers", "peft", "datasets", "pyarrow", "numpy", "safetensors")


class Record(msgspec.Struct, frozen=True):
    """The content of a record.json."""

    stage: str
    inputs: dict[str, str]
    outputs: dict[str, str]
    params: dict[str, object]
    versions: dict[str, str]
    metrics: dict[str, object]


def write_json(path: Path, obj: object) -> None:
    """Write `obj` as stable JSON: sorted keys, two spaces, a final newline; NaN and infinity are refused."""
    text = json.dumps(obj, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def file_digest(path: Path) -> str:
    """SHA-256 of a file, hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def tree_files(folder: Path) -> list[Path]:
    """All files below `folder`, sorted by their relative POSIX path; byte-code caches are left out."""
    found = (Path(base, name) for base, _, names in os.walk(folder) for name in names)
    kept = (path for path in found if "__pycache__" not in path.parts)
    return sorted(kept, key=lambda path: path.relative_to(folder).as_posix())


def outputs_of(folder: Path) -> dict[str, str]:
    """Relative path → SHA-256 of every file in an output folder, the record itself excepted."""
    return {
        path.relative_to(folder).as_posix(): file_digest(path) for path in tree_files(folder) if path != folder / RECORD
    }


def input_digest(path: Path) -> str:
    """Identity of an input: its record's digest if it has one, else a digest over its content."""
    if path.is_file():
        return file_digest(path)
    if (path / RECORD).is_file():
        return file_digest(path / RECORD)
    lines = "".join(f"{name}\0{digest}\n" for name, digest in outputs_of(path).items())
    return hashlib.sha256(lines.encode()).hexdigest()


def installed_versions() -> dict[str, str]:
    """Versions of the libraries in `VERSIONED` that are installed here."""
    versions = {}
    for name in VERSIONED:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def write_record(
    folder: Path,
    *,
    stage: str,
    inputs: Mapping[str, str],
    params: object,
    metrics: Mapping[str, object],
) -> None:
    """Write `folder/record.json`; call it last, when every other file is in place."""
    write_json(
        folder / RECORD,
        {
            "stage": stage,
            "inputs": dict(inputs),
            "outputs": outputs_of(folder),
            "params": params,
            "versions": installed_versions(),
            "metrics": dict(metrics),
        },
    )

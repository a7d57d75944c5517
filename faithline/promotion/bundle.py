"""An evidence bundle: a folder whose manifest names every file with its digest, and itself by the digest of that list.

The manifest is in one canonical form, so any changed byte of any file, the manifest included, is found; a bundle that
was replaced as a whole is found by the digest that the registry holds. The version of a promotion is the beginning of
that digest: equal evidence has an equal version.
"""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePosixPath

import msgspec

from faithline.pipeline.errors import DataInvalid
from faithline.pipeline.records import file_digest, tree_files

__all__ = ["MANIFEST", "File", "Manifest", "read_manifest", "seal", "verify_bundle"]

MANIFEST = "manifest.json"
VERSION_DIGITS = 12
_SHOWN = 5


class File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file."""

    sha256: str
    size: int


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `manifest.json` holds."""

    bundle: str
    """SHA-256 of the canonical list of files."""
    files: dict[str, File]
    """Relative path → file."""
    version: str
    """First digits of `bundle`."""


def seal(folder: Path) -> Manifest:
    """Write the manifest of a folder's files; call it last.

    Raises:
        DataInvalid: If the folder has no file.
    """
    names = [path.relative_to(folder).as_posix() for path in tree_files(folder) if path != folder / MANIFEST]
    if not names:
        raise DataInvalid("an empty bundle proves nothing", where=str(folder))
    files = {name: File(file_digest(folder / name), (folder / name).stat().st_size) for name in names}
    bundle = _digest(files)
    manifest = Manifest(bundle, files, bundle[:VERSION_DIGITS])
    (folder / MANIFEST).write_bytes(_canonical(manifest))
    return manifest


def read_manifest(content: bytes, where: str) -> Manifest:
    """Read a manifest.

    Raises:
        DataInvalid: If it is not in canonical form, its digest is not that of its list, or a path leads outside.
    """
    try:
        manifest = msgspec.json.decode(content, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _changed(f"{MANIFEST} was changed: {error}", where) from None
    if any(PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts for name in manifest.files):
        raise _changed(f"{MANIFEST} names a file outside the bundle", where)
    sound = manifest.bundle == _digest(manifest.files) and manifest.version == manifest.bundle[:VERSION_DIGITS]
    if not sound or _canonical(manifest) != content:
        raise _changed(f"{MANIFEST} was changed", where)
    return manifest


def verify_bundle(folder: Path, digest: str | None = None) -> Manifest:
    """Check every byte of a bundle.

    Args:
        folder: The bundle.
        digest: What the bundle's digest must be, from the registry; None: only its inner consistency is checked.

    Raises:
        DataInvalid: If a file is missing, added or changed, naming each.
    """
    place = folder / MANIFEST
    if not place.is_file():
        raise DataInvalid(f"no bundle: {MANIFEST} is missing", where=str(folder), next_step="name a bundle's folder")
    manifest = read_manifest(place.read_bytes(), str(place))
    there = {path.relative_to(folder).as_posix() for path in tree_files(folder)} - {MANIFEST}
    wrong = [f"{name} is missing" for name in sorted(manifest.files.keys() - there)]
    wrong += [f"{name} was added" for name in sorted(there - manifest.files.keys())]
    for name in sorted(there & manifest.files.keys()):
        if file_digest(folder / name) != manifest.files[name].sha256:
            wrong.append(f"{name} was changed")
    if wrong:
        more = f" and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        raise _changed("; ".join(wrong[:_SHOWN]) + more, str(folder))
    if digest is not None and manifest.bundle != digest:
        raise _changed("it is whole, but not the bundle with this digest", str(folder))
    return manifest


def _canonical(manifest: Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest, order="sorted"), indent=1) + b"\n"


def _digest(files: dict[str, File]) -> str:
    return hashlib.sha256(msgspec.json.encode(files, order="sorted")).hexdigest()


def _changed(what: str, where: str) -> DataInvalid:
    return DataInvalid(what, where=where, next_step="do not trust it: fetch the bundle from the registry again")

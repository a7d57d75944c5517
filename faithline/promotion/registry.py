"""The registry of champions, in a store: `s3://BUCKET/PREFIX` or a folder.

    registry.json                 the state; the only object that ever changes, and only by conditional write
    bundles/<version>/...         evidence bundles, written before the state names them, never changed
    scores/<digest>.parquet       items tables of champions that were scored again

A change reads the state, computes the next, and writes it on the condition that nothing changed meanwhile: of two
writers that meet one wins, and the other looks again at what is there now, where the transition decides whether it may
still go on. A server that ignores conditions is found out by a write that it must refuse, and not used. A state that
cannot be read is an error, never an empty registry.
"""

from __future__ import annotations

import getpass
import hashlib
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from faithline.pipeline.errors import ConfigError, DataInvalid, EnvironmentMismatch, Preempted
from faithline.promotion.bundle import MANIFEST, Manifest, read_manifest, verify_bundle
from faithline.promotion.state import Action, Event, State
from faithline.store.objects import ABSENT, Store, open_store

__all__ = ["STATE", "Registry", "open_registry"]

STATE = "registry.json"
PROBE = "probe"
TRIES = 8
"""Attempts at a change while others change the registry too."""


def open_registry(address: str, root: Path) -> Registry:
    """Open a registry.

    Args:
        address: `s3://BUCKET/PREFIX`, or a folder, relative ones below `root`.
        root: The project folder.
    """
    return Registry(open_store(address if "://" in address else str(root.absolute() / address)))


class Registry:
    """Champions in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def url(self) -> str:
        """Where it is."""
        return self._store.url

    def state(self) -> State:
        """Read what is in force; nothing there is an empty registry.

        Raises:
            DataInvalid: If the document is damaged.
        """
        return self._read()[0]

    def change(
        self, action: Action, version: str, bundle: str, move: Callable[[State, Event], State], *,
        reason: str, commit: str | None = None, by: str | None = None,
    ) -> State:  # fmt: skip
        """Make one change, all of it or nothing.

        Args:
            action: What is done.
            version: The version it is about.
            bundle: Digest of the version's bundle.
            move: The transition; called again when somebody else was faster, and may refuse then.
            reason: Why, for people.
            commit: The project's commit.
            by: Who; None: the user of this process.

        Raises:
            Preempted: If others kept changing the registry.
            EnvironmentMismatch: If the store ignores conditions.
        """
        self._require_conditions()
        token = secrets.token_hex(8)
        for _ in range(TRIES):
            state, seen = self._read()
            if any(event.token == token for event in state.events):
                return state  # the answer to a write that came through was lost
            event = Event(
                number=state.next_number,
                action=action,
                version=version,
                before=state.champion,
                bundle=bundle,
                at=datetime.now(UTC).isoformat(timespec="seconds"),
                by=by or _user(),
                reason=reason,
                commit=commit,
                token=token,
            )
            following = move(state, event)
            if self._store.write(STATE, _encoded(following), expect=seen):
                return following
        raise Preempted(
            "others keep changing the registry", where=f"{self.url}/{STATE}", next_step="run it again later"
        )

    def add_bundle(self, folder: Path) -> Manifest:
        """Send a verified bundle; nothing happens if it is there.

        Raises:
            DataInvalid: If the bundle is damaged.
        """
        manifest = verify_bundle(folder)
        for name in manifest.files:
            self._store.upload(_bundle_key(manifest.version, name), folder / name)
        self._store.write(_bundle_key(manifest.version, MANIFEST), (folder / MANIFEST).read_bytes())
        return manifest

    def fetch_bundle(self, version: str, digest: str, folder: Path) -> Manifest:
        """Bring a bundle, verified, into a folder that does not exist yet.

        Raises:
            ConfigError: If the folder exists.
            DataInvalid: If the bundle is not in the store as it was promoted.
        """
        if folder.exists():
            raise ConfigError("the folder exists already", where=str(folder), next_step="name a new one")
        manifest = self.manifest(version, digest)
        folder.mkdir(parents=True)
        for name in [*manifest.files, MANIFEST]:
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if not self._store.download(_bundle_key(version, name), target):
                raise self._damaged(version, f"{name} is missing")
        return verify_bundle(folder, digest)

    def manifest(self, version: str, digest: str) -> Manifest:
        """Read a bundle's list of files.

        Raises:
            DataInvalid: If it is missing or not the one that was promoted.
        """
        found = self._store.read(_bundle_key(version, MANIFEST))
        if found is None:
            raise self._damaged(version, f"{MANIFEST} is missing")
        manifest = read_manifest(found.content, f"{self.url}/{_bundle_key(version, MANIFEST)}")
        if manifest.bundle != digest:
            raise self._damaged(version, "it is not the bundle that was promoted")
        return manifest

    def file(self, version: str, digest: str, name: str) -> bytes:
        """Read one file of a bundle, checked against its digest.

        Raises:
            DataInvalid: If it is missing or changed.
        """
        expected = self.manifest(version, digest).files.get(name)
        found = self._store.read(_bundle_key(version, name))
        if expected is None or found is None:
            raise self._damaged(version, f"{name} is missing")
        if hashlib.sha256(found.content).hexdigest() != expected.sha256:
            raise self._damaged(version, f"{name} was changed")
        return found.content

    def add_scores(self, content: bytes) -> str:
        """Keep an items table and return its key, which holds its digest."""
        key = f"scores/{hashlib.sha256(content).hexdigest()}.parquet"
        self._store.write(key, content)
        return key

    def scores(self, key: str) -> bytes:
        """Read an items table that `add_scores` kept.

        Raises:
            DataInvalid: If it is missing or changed.
        """
        found = self._store.read(key)
        if found is None or f"scores/{hashlib.sha256(found.content).hexdigest()}.parquet" != key:
            what = "missing" if found is None else "changed"
            raise DataInvalid(f"the champion's scores are {what}", where=f"{self.url}/{key}", next_step=_RESTORE)
        return found.content

    def _read(self) -> tuple[State, str]:
        found = self._store.read(STATE)
        if found is None:
            return State(), ABSENT
        try:
            return msgspec.json.decode(found.content, type=State), found.version
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DataInvalid(
                f"the registry is damaged: {error}",
                where=f"{self.url}/{STATE}",
                next_step="restore the object from an earlier version (S3 versioning) or a backup; nothing was changed",
            ) from None

    def _require_conditions(self) -> None:
        self._store.write(PROBE, b"a second write of this object must be refused\n")
        if self._store.write(PROBE, b"it was not\n", expect=ABSENT):
            raise EnvironmentMismatch(
                "the store ignores conditions of writes: two promotions at once could both win",
                where=self.url,
                next_step="use a server that knows If-None-Match and If-Match, such as S3 or MinIO, or a folder",
            )

    def _damaged(self, version: str, what: str) -> DataInvalid:
        return DataInvalid(
            f"bundle {version} in the registry is damaged: {what}",
            where=f"{self.url}/bundles/{version}",
            next_step=_RESTORE,
        )


_RESTORE = "restore the object from an earlier version (S3 versioning) or a backup"


def _encoded(state: State) -> bytes:
    return msgspec.json.format(msgspec.json.encode(state), indent=1) + b"\n"


def _bundle_key(version: str, name: str) -> str:
    return f"bundles/{version}/{name}"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"  # a container's user id without an entry

"""What a registry holds: the champion, a candidate that waits for approval, and everything that ever happened.

One document, so that a single conditional write changes all of it or nothing; an event is never removed. Transitions
are pure: each takes a state and returns the next, or says why it is not allowed.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from faithline.pipeline.errors import ConfigError, DataInvalid

__all__ = [
    "Action",
    "Event",
    "Pending",
    "State",
    "approved",
    "bundle_of",
    "promoted",
    "rejected",
    "rescored",
    "rolled_back",
    "submitted",
]

Action = Literal["promoted", "submitted", "approved", "rejected", "rolled_back", "rescored"]
CHAMPION_CHANGES = frozenset({"promoted", "approved", "rolled_back"})
Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$")]


class Event(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One change."""

    number: Annotated[int, msgspec.Meta(ge=1)]
    action: Action
    version: str
    """The version it is about."""
    before: str | None
    """The champion before it."""
    bundle: Digest
    """Digest of the version's evidence bundle."""
    at: str
    """UTC time, ISO 8601."""
    by: str
    reason: str
    commit: str | None
    """The project's commit, where it is known."""
    token: str
    """Random, by which a writer recognises its own event."""


class Pending(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A candidate that waits for a person."""

    version: str
    bundle: Digest
    champion: str | None
    """The champion that it was compared with."""


class State(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The registry's document."""

    format: Literal[1] = 1
    champion: str | None = None
    bundle: Digest | None = None
    """Digest of the champion's evidence bundle."""
    scores: str | None = None
    """Key of the champion's items table, where it was scored again on other items."""
    pending: Pending | None = None
    events: list[Event] = []

    @property
    def generation(self) -> int:
        """How often the champion has changed."""
        return sum(event.action in CHAMPION_CHANGES for event in self.events)

    @property
    def next_number(self) -> int:
        """Number of the next event."""
        return len(self.events) + 1


def promoted(state: State, event: Event, compared_with: str | None) -> State:
    """Make a candidate the champion.

    Raises:
        DataInvalid: If the champion is not the one that it was compared with.
    """
    _same_champion(state, compared_with)
    return _with(state, event, champion=event.version, bundle=event.bundle, scores=None, pending=None)


def submitted(state: State, event: Event, compared_with: str | None) -> State:
    """Let a candidate wait for approval, in place of one that waited before.

    Raises:
        DataInvalid: If the champion is not the one that it was compared with.
    """
    _same_champion(state, compared_with)
    waiting = Pending(version=event.version, bundle=event.bundle, champion=compared_with)
    return _with(state, event, pending=waiting)


def approved(state: State, event: Event) -> State:
    """Make the candidate that waits the champion.

    Raises:
        ConfigError: If it does not wait.
        DataInvalid: If the champion has changed since.
    """
    waiting = _waiting(state, event.version)
    _same_champion(state, waiting.champion)
    return _with(state, event, champion=event.version, bundle=event.bundle, scores=None, pending=None)


def rejected(state: State, event: Event) -> State:
    """Send the candidate that waits away.

    Raises:
        ConfigError: If it does not wait.
    """
    _waiting(state, event.version)
    return _with(state, event, pending=None)


def rolled_back(state: State, event: Event) -> State:
    """Bring a former champion back; what waits was compared with the one that goes, and is dropped.

    Raises:
        ConfigError: If the version never was the champion, or is.
    """
    if event.version == state.champion:
        raise ConfigError(f"{event.version} is the champion already", where="registry")
    if event.version not in former(state):
        raise ConfigError(
            f"{event.version} never was the champion",
            where="registry",
            next_step=f"former champions: {', '.join(former(state)) or 'none'}",
        )
    return _with(state, event, champion=event.version, bundle=event.bundle, scores=None, pending=None)


def rescored(state: State, event: Event, scores: str) -> State:
    """Note where the champion's scores on other items are; what waits was compared on the old ones, and is dropped."""
    return _with(state, event, scores=scores, pending=None)


def former(state: State) -> list[str]:
    """Versions that were the champion before the present one, the latest first."""
    changes = [event for event in reversed(state.events) if event.action in CHAMPION_CHANGES]
    found = [event.before for event in changes if event.before is not None]
    return [version for version in dict.fromkeys(found) if version != state.champion]


def bundle_of(state: State, version: str) -> str:
    """Digest of a known version's bundle.

    Raises:
        ConfigError: If the registry does not know the version.
    """
    for event in reversed(state.events):
        if event.version == version:
            return event.bundle
    known = ", ".join(dict.fromkeys(event.version for event in state.events))
    raise ConfigError(
        f"the registry has no version {version}", where="registry", next_step=f"versions: {known or 'none'}"
    )


def _with(state: State, event: Event, **changes: object) -> State:
    if event.number != state.next_number or event.before != state.champion:
        raise DataInvalid("the event does not follow the last one", where="registry")
    return msgspec.structs.replace(state, events=[*state.events, event], **changes)


def _waiting(state: State, version: str) -> Pending:
    if state.pending is None or state.pending.version != version:
        waits = state.pending.version if state.pending else "no candidate"
        raise ConfigError(f"{version} does not wait for approval: {waits} does", where="registry")
    return state.pending


def _same_champion(state: State, compared_with: str | None) -> None:
    if state.champion != compared_with:
        raise DataInvalid(
            f"the champion is {state.champion or 'nobody'}, but the candidate was compared with "
            f"{compared_with or 'nobody'}: nothing is promoted",
            where="registry",
            next_step="compare again: `dvc repro --force --single-item compare`, then `dvc repro`",
        )

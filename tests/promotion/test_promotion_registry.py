"""The registry, in a folder and on a real S3 server: one winner of a race, history, approval, rollback, damage."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from faithline.pipeline.errors import ConfigError, DataInvalid, EnvironmentMismatch, PipelineError
from faithline.promotion.bundle import MANIFEST, Manifest, seal
from faithline.promotion.registry import PROBE, STATE, Registry, open_registry
from faithline.promotion.state import (
    Event,
    Pending,
    State,
    approved,
    bundle_of,
    former,
    promoted,
    rejected,
    rolled_back,
    submitted,
)
from faithline.store.objects import FolderStore


@pytest.fixture(params=["folder", "s3"])
def registry(request: pytest.FixtureRequest, tmp_path: Path) -> Registry:
    if request.param == "folder":
        return open_registry("models/registry", tmp_path)
    return open_registry(f"s3://{request.getfixturevalue('bucket')}/champions", tmp_path)


@pytest.fixture
def make_bundle(tmp_path: Path) -> Callable[[str], Path]:
    def make(text: str) -> Path:
        folder = tmp_path / "bundles" / text
        (folder / "adapters").mkdir(parents=True)
        (folder / "adapters/weights").write_bytes(text.encode() * 1000)
        (folder / "README.md").write_text(f"# {text}\n")
        seal(folder)
        return folder

    return make


def take(registry: Registry, manifest: Manifest, compared_with: str | None, by: str = "ann") -> State:
    return registry.change(
        "promoted",
        manifest.version,
        manifest.bundle,
        lambda state, event: promoted(state, event, compared_with),
        reason="better",
        by=by,
    )


def test_promotion_history_and_rollback(registry: Registry, make_bundle: Any, tmp_path: Path) -> None:
    assert registry.state() == State()
    first, second = (registry.add_bundle(make_bundle(name)) for name in ("one", "two"))
    take(registry, first, None)
    state = take(registry, second, first.version)
    assert (state.champion, state.bundle, former(state)) == (second.version, second.bundle, [first.version])
    back = registry.change(
        "rolled_back", first.version, bundle_of(state, first.version), rolled_back, reason="worse in production"
    )
    assert back == registry.state()
    assert (back.champion, back.generation) == (first.version, 3)
    assert [(event.number, event.action, event.version, event.before) for event in back.events] == [
        (1, "promoted", first.version, None),
        (2, "promoted", second.version, first.version),
        (3, "rolled_back", first.version, second.version),
    ]
    assert former(back) == [second.version]
    fetched = registry.fetch_bundle(first.version, first.bundle, tmp_path / "fetched")
    assert fetched == first
    assert (tmp_path / "fetched/adapters/weights").read_bytes() == b"one" * 1000


def test_two_racing_promotions_have_one_winner(registry: Registry, make_bundle: Any) -> None:
    base = registry.add_bundle(make_bundle("base"))
    take(registry, base, None)
    rivals = [registry.add_bundle(make_bundle(f"rival{number}")) for number in range(4)]
    barrier, outcomes = threading.Barrier(len(rivals)), dict[str, str]()

    def run(manifest: Manifest) -> None:
        barrier.wait()
        try:
            take(registry, manifest, base.version)
            outcomes[manifest.version] = "won"
        except DataInvalid as error:
            outcomes[manifest.version] = error.what

    threads = [threading.Thread(target=run, args=(manifest,)) for manifest in rivals]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    winners = [version for version, outcome in outcomes.items() if outcome == "won"]
    assert len(winners) == 1
    assert len(outcomes) == 4
    assert all("nothing is promoted" in outcome for outcome in outcomes.values() if outcome != "won")
    state = registry.state()
    assert state.champion == winners[0]
    assert [event.version for event in state.events] == [base.version, winners[0]]


def test_a_champion_that_changed_underneath_promotes_nothing(registry: Registry, make_bundle: Any) -> None:
    first, second, third = (registry.add_bundle(make_bundle(name)) for name in "abc")
    take(registry, first, None)
    take(registry, second, first.version)
    with pytest.raises(DataInvalid, match=f"the champion is {second.version}.*compared with {first.version}") as caught:
        take(registry, third, first.version)
    assert caught.value.exit_code == 20
    assert "dvc repro" in caught.value.next_step
    assert registry.state().champion == second.version


def test_both_first_candidates_cannot_win(registry: Registry, make_bundle: Any) -> None:
    first, second = (registry.add_bundle(make_bundle(name)) for name in "ab")
    take(registry, first, None)
    with pytest.raises(DataInvalid, match="compared with nobody"):
        take(registry, second, None)


class Between:
    """A store into which somebody else writes just before our conditional write."""

    def __init__(self, inner: Any, act: Callable[[], None]) -> None:
        self._inner, self._act = inner, act

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def write(self, key: str, content: bytes, *, expect: str | None = None) -> bool:
        if key == STATE and self._act is not None:
            act, self._act = self._act, None  # type: ignore[assignment]
            act()
        return bool(self._inner.write(key, content, expect=expect))


def test_a_harmless_change_in_between_is_taken_along(registry: Registry, make_bundle: Any) -> None:
    first, second = (registry.add_bundle(make_bundle(name)) for name in "ab")
    take(registry, first, None)

    def submit() -> None:
        registry.change(
            "submitted", second.version, second.bundle, lambda s, e: submitted(s, e, first.version), reason=""
        )

    other = Registry(Between(registry._store, submit))
    state = take(other, second, first.version)
    assert [event.action for event in state.events] == ["promoted", "submitted", "promoted"]


class Forgetful:
    """A store that carries a write out and says it was refused, as a lost answer and a second try look."""

    def __init__(self, inner: Any) -> None:
        self._inner, self._once = inner, True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def write(self, key: str, content: bytes, *, expect: str | None = None) -> bool:
        done = bool(self._inner.write(key, content, expect=expect))
        if key == STATE and self._once:
            self._once = False
            return False
        return done


def test_a_lost_answer_does_not_promote_twice(tmp_path: Path, make_bundle: Any) -> None:
    registry = Registry(Forgetful(FolderStore(tmp_path / "r")))
    manifest = registry.add_bundle(make_bundle("a"))
    state = take(registry, manifest, None)
    assert len(state.events) == len(registry.state().events) == 1


class Unconditional:
    """A server that ignores conditions."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def write(self, key: str, content: bytes, *, expect: str | None = None) -> bool:
        return bool(self._inner.write(key, content))


def test_a_server_that_ignores_conditions_is_not_used(tmp_path: Path, make_bundle: Any) -> None:
    registry = Registry(Unconditional(FolderStore(tmp_path / "r")))
    manifest = registry.add_bundle(make_bundle("a"))
    with pytest.raises(EnvironmentMismatch, match="ignores conditions"):
        take(registry, manifest, None)
    assert registry.state() == State()
    assert (tmp_path / "r" / PROBE).exists()


def test_approval(registry: Registry, make_bundle: Any) -> None:
    first, second, third = (registry.add_bundle(make_bundle(name)) for name in "abc")
    take(registry, first, None)

    def submit(manifest: Manifest) -> State:
        return registry.change(
            "submitted", manifest.version, manifest.bundle, lambda s, e: submitted(s, e, first.version), reason="better"
        )

    assert submit(second).champion == first.version
    with pytest.raises(ConfigError, match=f"{third.version} does not wait"):
        registry.change("approved", third.version, third.bundle, approved, reason="")
    state = registry.change("rejected", second.version, second.bundle, rejected, reason="smells")
    assert (state.champion, state.pending) == (first.version, None)
    submit(third)
    state = registry.change("approved", third.version, third.bundle, approved, reason="", by="boss")
    assert (state.champion, state.pending, state.events[-1].by) == (third.version, None, "boss")
    with pytest.raises(ConfigError, match="no candidate does"):
        registry.change("approved", third.version, third.bundle, approved, reason="")


def test_an_approval_after_the_champion_changed_is_refused(registry: Registry, make_bundle: Any) -> None:
    first, second = (registry.add_bundle(make_bundle(name)) for name in "ab")
    take(registry, first, None)
    state = registry.state()
    waiting = Pending(version=second.version, bundle=second.bundle, champion=None)
    old = msgspec.structs.replace(state, pending=waiting)
    event = Event(
        number=2, action="approved", version=second.version, before=first.version, bundle=second.bundle, at="", by="",
        reason="", commit=None, token="t",
    )  # fmt: skip
    with pytest.raises(DataInvalid, match="compared with nobody"):
        approved(old, event)


def test_rollback_only_to_a_former_champion(registry: Registry, make_bundle: Any) -> None:
    first, second = (registry.add_bundle(make_bundle(name)) for name in "ab")
    take(registry, first, None)
    for version, message in ((first.version, "is the champion already"), (second.version, "never was the champion")):
        with pytest.raises(ConfigError, match=message):
            registry.change("rolled_back", version, first.bundle, rolled_back, reason="")
    with pytest.raises(ConfigError, match="has no version v9"):
        bundle_of(registry.state(), "v9")


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"format": 2}', b'{"champion": 3}', b'{"champio": null}', b"\xff"]
)
def test_a_damaged_registry_is_no_empty_one(registry: Registry, make_bundle: Any, content: bytes) -> None:
    manifest = registry.add_bundle(make_bundle("a"))
    registry._store.write(STATE, content)
    for use in (registry.state, lambda: take(registry, manifest, None)):
        with pytest.raises(DataInvalid, match="the registry is damaged"):
            use()
    found = registry._store.read(STATE)
    assert found is not None
    assert found.content == content


def test_a_damaged_bundle_in_the_store_is_found(registry: Registry, make_bundle: Any, tmp_path: Path) -> None:
    manifest = registry.add_bundle(make_bundle("a"))
    key = f"bundles/{manifest.version}"
    assert registry.file(manifest.version, manifest.bundle, "README.md") == b"# a\n"
    with pytest.raises(DataInvalid, match="not the bundle that was promoted"):
        registry.manifest(manifest.version, "0" * 64)
    registry._store.write(f"{key}/README.md", b"# b\n")
    with pytest.raises(DataInvalid, match=r"README.md was changed"):
        registry.file(manifest.version, manifest.bundle, "README.md")
    with pytest.raises(DataInvalid, match=r"README.md was changed"):
        registry.fetch_bundle(manifest.version, manifest.bundle, tmp_path / "x")
    registry._store.delete(f"{key}/README.md")
    with pytest.raises(DataInvalid, match="is missing"):
        registry.fetch_bundle(manifest.version, manifest.bundle, tmp_path / "y")
    with pytest.raises(ConfigError, match="exists already"):
        registry.fetch_bundle(manifest.version, manifest.bundle, tmp_path / "y")
    registry._store.delete(f"{key}/{MANIFEST}")
    with pytest.raises(DataInvalid, match=f"{MANIFEST} is missing"):
        registry.manifest(manifest.version, manifest.bundle)


def test_scores_are_kept_by_their_digest(registry: Registry) -> None:
    key = registry.add_scores(b"table")
    assert registry.scores(key) == b"table"
    registry._store.write(key, b"tablf")
    with pytest.raises(DataInvalid, match="scores are changed"):
        registry.scores(key)


def test_a_store_that_is_not_there(tmp_path: Path, bucket: str) -> None:
    for address in (f"s3://{bucket}-no-such-bucket/x", "ftp://host/x"):
        with pytest.raises(PipelineError) as caught:
            open_registry(address, tmp_path).state()
        assert caught.value.exit_code == 40

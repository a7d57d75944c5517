"""Objects between cache and store: checked at both ends, sent once."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithline.pipeline.errors import EnvironmentMismatch
from faithline.runs.layout import object_key
from faithline.runs.objects import Cache, Moved, fetch, push
from faithline.store.objects import FolderStore


def files(folder: Path, contents: list[bytes]) -> dict[str, Path]:
    """Write contents to files and return MD5 → file."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for number, content in enumerate(contents):
        path = folder / str(number)
        path.write_bytes(content)
        found[hashlib.md5(content).hexdigest()] = path
    return found


@given(st.lists(st.binary(max_size=50), max_size=8))
def test_what_is_pushed_is_fetched(tmp_path_factory: pytest.TempPathFactory, contents: list[bytes]) -> None:
    folder = tmp_path_factory.mktemp("objects")
    store, cache = FolderStore(folder / "store"), Cache(folder / "cache")
    sources = files(folder / "files", contents)
    sent, again, received = Moved(), Moved(), Moved()
    push(store, sources, sent)
    push(store, sources, again)
    fetch(store, cache, sources, received)
    assert {md5: cache.path(md5).read_bytes() for md5 in sources} == {m: p.read_bytes() for m, p in sources.items()}
    assert (sent.objects, again.objects, again.present, received.objects) == (len(sources), 0, *[len(sources)] * 2)
    assert all(cache.path(md5).stat().st_mode & 0o777 == 0o444 for md5 in sources)


def test_a_folder_is_its_list_and_its_files(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    listed = json.dumps([{"md5": "aa1", "relpath": "x/y"}, {"md5": "bb2", "relpath": "z"}]).encode()
    name = hashlib.md5(listed).hexdigest() + ".dir"
    cache.path(name).parent.mkdir()
    cache.path(name).write_bytes(listed)
    assert cache.files(name) == {"x/y": "aa1", "z": "bb2"}
    assert cache.expand([name, "cc3"]) == {name, "aa1", "bb2", "cc3"}


def test_a_torn_object_in_the_store_is_sent_again(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "store")
    sources = files(tmp_path / "files", [b"whole content"])
    (md5,) = sources
    store.write(object_key(md5), b"whole")
    sent = Moved()
    push(store, sources, sent)
    assert sent.objects == 1
    found = store.read(object_key(md5))
    assert found is not None
    assert found.content == b"whole content"


def test_a_damaged_object_is_not_taken(tmp_path: Path) -> None:
    store, cache = FolderStore(tmp_path / "store"), Cache(tmp_path / "cache")
    (md5,) = files(tmp_path / "files", [b"content"])
    store.write(object_key(md5), b"CONTENT")
    with pytest.raises(EnvironmentMismatch, match="damaged"):
        fetch(store, cache, [md5], Moved())
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []
    with pytest.raises(EnvironmentMismatch, match="not in the store"):
        fetch(store, cache, ["0" * 32], Moved())


def test_a_file_that_changed_is_not_sent(tmp_path: Path) -> None:
    sources = files(tmp_path / "files", [b"content"])
    (md5,) = sources
    sources[md5].write_bytes(b"CONTENT")
    with pytest.raises(EnvironmentMismatch, match="changed after DVC hashed it"):
        push(FolderStore(tmp_path / "store"), sources, Moved())


@pytest.mark.parametrize(
    "listed",
    ["", "{", "[1]", '[{"relpath": "x"}]', '[{"relpath": "../x", "md5": "0"}]', '[{"relpath": "/x", "md5": "0"}]'],
)
def test_a_list_of_files_that_is_none_or_leads_out_of_its_folder_is_refused(tmp_path: Path, listed: str) -> None:
    cache = Cache(tmp_path)
    cache.path("ab.dir").parent.mkdir(parents=True)
    cache.path("ab.dir").write_text(listed)
    with pytest.raises(EnvironmentMismatch, match="list of files"):
        cache.files("ab.dir")

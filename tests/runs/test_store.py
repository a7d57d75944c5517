"""Both kinds of store behave alike; S3's faults become the project's errors."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from benchmarks.store_servers import client
from faithline.pipeline.errors import ConfigError, EnvironmentMismatch, Preempted
from faithline.store import s3
from faithline.store.objects import ABSENT, FolderStore, Store, open_store


@pytest.fixture(params=["s3", "folder"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "folder":
        return open_store(f"file://{tmp_path / 'store'}")
    return open_store(f"s3://{request.getfixturevalue('bucket')}/deep/prefix/")


def test_objects_are_written_read_listed_and_deleted(store: Store) -> None:
    assert store.read("a/b") is None
    assert store.stat("a/b") is None
    assert store.write("a/b", b"one")
    assert store.write("a/b", b"three")
    assert store.write("ab", b"")
    found = store.read("a/b")
    assert found is not None
    assert found.content == b"three"
    assert -2 <= found.age_s <= 5
    assert [(entry.key, entry.size) for entry in store.list("a/")] == [("a/b", 5)]
    assert [(entry.key, entry.size) for entry in store.list("a")] == [("a/b", 5), ("ab", 0)]
    store.delete("a/b")
    store.delete("a/b")
    assert [entry.key for entry in store.list("")] == ["ab"]


def test_conditions_decide(store: Store) -> None:
    assert store.write("x", b"1", expect=ABSENT)
    assert not store.write("x", b"2", expect=ABSENT)
    first = store.read("x")
    assert first is not None
    assert store.write("x", b"3", expect=first.version)
    assert not store.write("x", b"4", expect=first.version)
    assert not store.write("gone", b"5", expect=first.version)
    now = store.read("x")
    assert now is not None
    assert now.content == b"3"


@pytest.mark.parametrize("size", [0, 1, s3.SINGLE_BYTES + 1])
def test_files_come_back_as_they_went(store: Store, tmp_path: Path, size: int) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    content = os.urandom(min(size, 1 << 20)) * (size // (1 << 20) + 1)
    source.write_bytes(content[:size])
    store.upload("k", source, hashlib.md5(source.read_bytes()).hexdigest())
    assert store.download("k", target)
    assert target.read_bytes() == source.read_bytes()
    assert not store.download("none", tmp_path / "other")
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["source", "target"]


def test_s3_refuses_a_body_that_is_not_what_its_md5_says(bucket: str, tmp_path: Path) -> None:
    store = open_store(f"s3://{bucket}")
    (tmp_path / "f").write_bytes(b"content")
    store.upload("k", tmp_path / "f", "9a0364b9e99bb480dd25e1f0284c8555")  # md5sum of "content", by coreutils
    entry = store.stat("k")
    assert entry is not None
    assert entry.md5 == "9a0364b9e99bb480dd25e1f0284c8555"


def test_abandoned_uploads_are_cleared_by_age(bucket: str, s3_port: int, tmp_path: Path) -> None:
    client(s3_port).create_multipart_upload(Bucket=bucket, Key="p/dvc/big")
    store = open_store(f"s3://{bucket}/p")
    assert store.clear_uploads("dvc/", 1e12) == 0  # moto says that every upload began in 2010
    assert store.clear_uploads("other/", 0) == 0
    assert store.clear_uploads("dvc/", 0) == 1
    assert client(s3_port).list_multipart_uploads(Bucket=bucket).get("Uploads", []) == []
    folder = FolderStore(tmp_path / "s")
    folder.write("dvc/x", b"")
    (tmp_path / "s" / "dvc" / ".part-1").touch()
    os.utime(tmp_path / "s" / "dvc" / ".part-1", (0, time.time() - 7200))
    assert [entry.key for entry in folder.list("dvc/")] == ["dvc/x"]
    assert folder.clear_uploads("dvc/", 3600) == 1


@pytest.mark.parametrize("url", ["", "s3://", "http://host/x", "file://host/x", "gs://b/x"])
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="is no store"):
        open_store(url)


def test_settings_that_are_wrong_exit_40_and_show_no_secret(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="bucket does not exist") as caught:
        open_store("s3://no-such-bucket/x").read("k")
    assert "campaign-secret" not in str(caught.value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "not an address")
    with pytest.raises(ConfigError, match="no address"):
        open_store("s3://b/x")
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(ConfigError, match="no S3 credentials"):
        open_store("s3://b/x").read("k")


def test_a_server_that_is_away_exits_75(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3, "ATTEMPTS", 1)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "y")
    monkeypatch.setenv("FAITHLINE_S3_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(Preempted, match="does not answer well"):
        open_store("s3://b/x").read("k")


def test_https_to_a_server_without_tls_exits_40(bucket: str, s3_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3, "ATTEMPTS", 1)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"https://127.0.0.1:{s3_port}")
    with pytest.raises(EnvironmentMismatch, match="speaks no TLS") as caught:
        open_store(f"s3://{bucket}").read("k")
    assert "http or https in AWS_ENDPOINT_URL" in caught.value.next_step

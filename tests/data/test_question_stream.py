"""Decoding in worker processes: the same rows, counts and errors as in this process, and no process left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from faithline.data import question_stream as module
from faithline.data.document_store import DocumentStore
from faithline.data.question_stream import question_stream, worker_count
from faithline.data.readers import QUESTION_FORMATS
from faithline.data.readers.ledger import RowLedger
from faithline.data.splits import Splitter
from faithline.pipeline.errors import DataInvalid, OutOfMemory


def rows(count: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for number in range(count):
        context = [["Own", [f"Text {number}.", " More."]], ["Shared", ["Same."]], ["Often", [f"Text {number % 7}."]]]
        row = {"_id": f"q{number}", "question": f"Who {number}?", "answer": "Ada", "context": context}
        found.append(row | {"supporting_facts": [["Own", 0]]})
    found[40]["_id"] = "q3"  # contradicts an earlier row, in another chunk
    found[50] = found[2]
    found[60]["question"] = 7
    found[61]["answer"] = " "
    return found


def run(path: Path, workers: int, on_invalid: str = "skip") -> tuple[list[tuple[pa.Table, pa.Table]], RowLedger]:
    ledger = RowLedger("t", on_invalid)  # type: ignore[arg-type]
    splitter, store = Splitter(1, "t", (0.5, 0.0, 0.5)), DocumentStore("t")
    stream = question_stream(
        path,
        QUESTION_FORMATS["hotpotqa"],
        splitter,
        store,
        ledger,
        limit=None,
        workers=workers,
        on_bytes=lambda _: None,
    )
    return list(stream), ledger


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of a dozen chunks."""
    monkeypatch.setattr(module, "_CHUNK_BYTES", 2000)
    file = tmp_path / "h.json"
    file.write_text(json.dumps(rows(100)), encoding="utf-8")
    return file


def test_workers_change_nothing(path: Path) -> None:
    here, counts = run(path, 0)
    there, others = run(path, 2)
    assert len(here) == len(there) > 6
    assert all(a.equals(c) and b.equals(d) for (a, b), (c, d) in zip(here, there, strict=True))
    for name in ("variant", "rows", "kept", "skipped", "noticed", "examples"):
        assert getattr(counts, name) == getattr(others, name)
    assert (counts.rows, counts.kept) == (100, 96)
    assert dict(counts.skipped) == {"conflicting_id": 1, "repeated": 1, "wrong_schema": 1, "blank_answer": 1}
    questions = pa.concat_tables([batch for batch, _ in here])
    documents = pa.concat_tables([batch for _, batch in here])
    assert questions["question_id"].to_pylist() == [f"t/q{n}" for n in range(100) if n not in {40, 50, 60, 61}]
    ids = documents["document_id"].to_pylist()
    assert len(ids) == len(set(ids)) == 96 + 1 + 7
    assert set(questions["documents"].combine_chunks().flatten().to_pylist()) == set(ids)


def test_the_first_bad_row_of_the_file_ends_the_run(path: Path) -> None:
    messages = []
    for workers in (0, 2):
        with pytest.raises(DataInvalid) as caught:
            run(path, workers, "fail")
        messages.append((caught.value.what, caught.value.where, caught.value.next_step))
    assert messages[0] == messages[1]
    assert messages[0][1].endswith("h.json[40]")


def test_a_killed_worker_is_lack_of_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OutOfMemory, match="was killed"):
        list(module._in_order(os._exit, [3, 3], 1))


@pytest.mark.parametrize(("cores", "size", "workers"), [(1, 10**9, 0), (2, 10**9, 2), (64, 10**9, 4), (8, 10**6, 0)])
def test_worker_count(monkeypatch: pytest.MonkeyPatch, cores: int, size: int, workers: int) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    assert worker_count(size) == workers


def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    (tmp_path / "parent.py").write_text(
        "import os, time\n"
        "from faithline.data import question_stream as module\n"
        "if __name__ == '__main__':\n"
        "    stream = module._in_order(abs, iter(lambda: time.sleep(0.01) or 1, 2), 2)\n"
        "    next(stream)\n"
        "    print(open(f'/proc/{os.getpid()}/task/{os.getpid()}/children').read(), flush=True)\n"
        "    time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "parent.py"], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    children = [int(child) for child in process.stdout.readline().split()]
    grandchildren = [
        int(pid)
        for child in children
        for pid in Path(f"/proc/{child}/task/{child}/children").read_text(encoding="utf-8").split()
    ]
    assert len(grandchildren) >= 1
    process.send_signal(signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and any(Path(f"/proc/{pid}").exists() for pid in grandchildren):
        time.sleep(0.1)
    assert not [pid for pid in grandchildren if Path(f"/proc/{pid}").exists()]

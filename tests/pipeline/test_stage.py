"""The wrapper, through real processes: atomic outputs, records, signals, exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

DVC = """
stages:
  toy:
    cmd: python toy.py
    deps: [raw]
    params: [seed, toy]
    outs: [out/folder]
    metrics: [{metrics/toy.json: {cache: false}}]
"""
SCRIPT = """
import sys, os, time
import msgspec
from pathlib import Path
from faithline.pipeline import errors
from faithline.pipeline.stage import StageContext, main
from faithline.pipeline.records import write_json

class Toy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    size: int

class Params(msgspec.Struct, frozen=True):
    seed: int
    toy: Toy

def run(ctx):
    text = ctx.dep("raw/in.txt").read_text()
    folder = ctx.out("out/folder")
    (folder / "a.txt").write_text(text * ctx.params.toy.size)
    write_json(ctx.out("metrics/toy.json"), {"n": len(text)})
    BODY
    return {"n": len(text)}

if __name__ == "__main__":
    main("toy", Params, run)
"""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    (tmp_path / "dvc.yaml").write_text(DVC)
    (tmp_path / "params.yaml").write_text("seed: 1\ntoy: {size: 2}\n")
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "in.txt").write_text("hello\n")
    return tmp_path


def start(folder: Path, body: str = "pass") -> subprocess.Popen[str]:
    (folder / "toy.py").write_text(textwrap.dedent(SCRIPT).replace("BODY", body))
    # A shell starts its background jobs with SIGINT ignored, which children inherit: as from a terminal again.
    command = ["env", "--default-signal=INT", sys.executable, "toy.py"]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, errors = process.communicate(timeout=60)
    return process.returncode, errors


def leftovers(folder: Path) -> list[str]:
    kept = {"dvc.yaml", "params.yaml", "toy.py", "raw/in.txt", "logs/toy.jsonl"}
    files = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() or ".staging" in p.name}
    return sorted(files - kept)


def test_success_writes_outputs_record_and_one_final_line(toy: Path) -> None:
    code, errors = finish(start(toy))
    assert code == 0, errors
    assert leftovers(toy) == ["metrics/toy.json", "out/folder/a.txt", "out/folder/record.json"]
    record = json.loads((toy / "out/folder/record.json").read_text())
    # sha256 of "hello\nhello\n" and, for the input, of "in.txt\0<sha256 of hello\n>\n": from coreutils' sha256sum
    assert record["outputs"] == {"a.txt": "cba5243834a58801d5f3460c1d21fe28c33b1e1c1bb8ce7513e1948eed3a19e4"}
    assert record["inputs"] == {"raw": "b431db6eb5ec1421f993c63f15e1cbebc20aaa74fdb8fd64fe759b386193e9aa"}
    assert record["params"] == {"seed": 1, "toy": {"size": 2}}
    assert record["metrics"] == {"n": 6}
    assert [line for line in errors.splitlines() if " done " in line]


def test_same_inputs_give_the_same_bytes(toy: Path) -> None:
    finish(start(toy))
    first = (toy / "out/folder/record.json").read_bytes()
    finish(start(toy, "time.sleep(0.2)"))
    assert (toy / "out/folder/record.json").read_bytes() == first
    assert str(toy).encode() not in first


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ('raise errors.DataInvalid("bad row", where="in.txt:1", next_step="mend it")', 20, "next:  mend it"),
        ('raise errors.Diverged("NaN")', 30, "NaN"),
        ('raise OSError(28, "No space left on device", "x")', 40, "no disk space left"),
        ("raise MemoryError", 50, "memory ran out"),
        ('raise errors.GateRejected("keep")', 10, "keep"),
        ("raise KeyError(1)", 1, "this is a bug in Faithline"),
        ('ctx.dep("secret/file")', 40, "is not a dependency"),
        ('ctx.dep("raw/none.txt")', 20, "input not found"),
        ('ctx.out("elsewhere")', 40, "is not an output"),
        ('(folder / "a.txt").unlink()', 40, "did not write `out/folder`"),
    ],
)
def test_failures_leave_nothing_and_say_what_where_next(toy: Path, body: str, code: int, message: str) -> None:
    returned, errors = finish(start(toy, body))
    assert (returned, message in errors) == (code, True), errors
    assert leftovers(toy) == []
    assert errors.count("error: ") == (0 if code == 10 else 1)  # a gate's verdict is no error


def test_failure_keeps_the_last_good_output(toy: Path) -> None:
    finish(start(toy))
    assert finish(start(toy, 'raise errors.DataInvalid("bad")'))[0] == 20
    assert (toy / "out/folder/record.json").is_file()


@pytest.mark.parametrize(
    "swallow", ["time.sleep(60)", "\n    try:\n        time.sleep(60)\n    except Exception: pass"]
)
def test_sigterm_exits_75_and_leaves_nothing(toy: Path, swallow: str) -> None:
    process = start(toy, swallow)
    wait_for(toy / "out", process)
    process.send_signal(signal.SIGTERM)
    code, errors = finish(process)
    assert code == 75, errors
    assert leftovers(toy) == []


def test_kill_9_leaves_nothing_that_looks_complete_and_the_next_run_clears_it(toy: Path) -> None:
    process = start(toy, "time.sleep(60)")
    wait_for(toy / "out", process)
    process.kill()
    finish(process)
    assert not (toy / "out/folder").exists()
    assert any(".staging-" in name for name in leftovers(toy))
    assert finish(start(toy))[0] == 0
    assert not any(".staging-" in name for name in leftovers(toy))


def test_ctrl_c_exits_130(toy: Path) -> None:
    process = start(toy, "time.sleep(60)")
    wait_for(toy / "out", process)
    process.send_signal(signal.SIGINT)
    code, errors = finish(process)
    assert (code, "Traceback" in errors) == (130, False)
    assert leftovers(toy) == []


def test_unknown_key_stops_before_anything_is_written(toy: Path) -> None:
    (toy / "params.yaml").write_text("seed: 1\ntoy: {sise: 2}\n")
    code, errors = finish(start(toy))
    assert code == 40
    assert "did you mean `size`?" in errors
    assert not (toy / "out").exists()


def test_real_full_disk_exits_40(toy: Path) -> None:
    mounted = mount_tmpfs(toy / "out", "80m")
    try:
        code, errors = finish(start(toy, '(folder / "b.bin").write_bytes(bytes(200 << 20))'))
        assert code == 40, errors
        assert "no disk space left" in errors
        assert list((toy / "out").iterdir()) == []
        (toy / "out" / "ballast").write_bytes(bytes(40 << 20))
        code, errors = finish(start(toy))
        assert (code, "MiB of disk space left" in errors) == (40, True)
    finally:
        subprocess.run(["umount", mounted], check=True)


def test_read_only_output_folder_exits_40(toy: Path) -> None:
    mounted = mount_tmpfs(toy / "out", "80m", "ro")
    try:
        code, errors = finish(start(toy))
        assert code == 40, errors
        assert "where:" in errors
        assert "Traceback" not in errors
    finally:
        subprocess.run(["umount", mounted], check=True)


def mount_tmpfs(folder: Path, size: str, mode: str = "rw") -> str:
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size},{mode}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs root")
    return str(folder)


def wait_for(folder: Path, process: subprocess.Popen[str]) -> None:
    """Wait until the stage has written into its staging folder."""
    for _ in range(300):
        if folder.exists() and any(folder.rglob("a.txt")):
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    pytest.fail("the stage did not start")

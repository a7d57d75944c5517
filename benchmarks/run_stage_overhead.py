"""What `faithline run-stage` costs beside the bare command and bare DVC, and what large checkpoints cost.

    python -m benchmarks.run_stage_overhead [--repeats 5] [--server moto|rclone=PATH] [--gigabytes 5] [--shards 50]

1. One small stage, each time in a fresh clone that shares only an S3 server: the command itself; `dvc repro` and
   `dvc push`; `run-stage` as a pod starts it; `run-stage` forked from a process with warm imports. Required: with warm
   imports at most 3 s over the bare command, as a pod at most 1.5 times bare DVC.
2. A checkpoint of many shards, saved, one shard changed, saved again: by the process that trains, by one that resumed
   (`faithline.store.checkpoints`). Required: one shard sent, one hashed.
3. The same shards, at a tenth of the size, as an output of DVC: what is hashed and sent when one changes, and what the
   next stage costs in a fresh container.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.store_faults import BUCKET, KEYS, make_project, s3_server
from faithline.store.checkpoints import Checkpoints
from faithline.store.objects import open_store

STORE = f"s3://{BUCKET}/overhead"
MAX_WARM_S, MAX_RATIO = 3.0, 1.5
SHARDS_YAML = """\
stages:
  train:
    cmd: python train.py
    deps: [train.py]
    params: [shards, shard_bytes, changed]
    outs: [model]
  use:
    cmd: python use.py
    deps: [use.py, model]
    outs: [used.txt]
"""
TRAIN = """\
import pathlib
params = dict(line.split(": ") for line in pathlib.Path("params.yaml").read_text().splitlines())
pathlib.Path("model").mkdir()
for number in range(int(params["shards"])):
    with open(f"model/{number:03d}.safetensors", "wb") as file:
        file.write(b"%d %d" % (number, int(params["changed"]) if number == 7 else 0))
        file.truncate(int(params["shard_bytes"]))
"""
USE = 'import pathlib\npathlib.Path("used.txt").write_bytes(pathlib.Path("model/007.safetensors").read_bytes()[:9])\n'


def timed(work: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def command(folder: Path, *arguments: str) -> None:
    """Run Python with arguments in a folder; it must succeed."""
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"exit code {done.returncode}: {' '.join(arguments)}\n{done.stdout}{done.stderr}")


def run_stage(folder: Path, stage: str, run_id: str) -> tuple[str, ...]:
    """Arguments of a try at a stage."""
    root = str(folder)
    return ("--root", root, "run-stage", stage, "--run-id", run_id, "--store", STORE)


def forked(folder: Path, stage: str, run_id: str) -> None:
    """Run a stage in a process that has loaded everything."""
    pid = os.fork()
    if not pid:
        code = 1
        try:
            sink = os.open(os.devnull, os.O_WRONLY)
            os.dup2(sink, 1)
            os.dup2(sink, 2)
            from faithline import cli

            code = cli.main(run_stage(folder, stage, run_id))
        finally:
            os._exit(code)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
        sys.exit(f"run-stage {stage} of run {run_id} failed")


def with_dvc(folder: Path) -> None:
    """Run the first stage and push it as a user would."""
    command(folder, "-m", "dvc", "repro", "-q", "--single-item", "first")
    command(folder, "-m", "dvc", "push", "-q")


def overhead(folder: Path, repeats: int) -> bool:
    """Measure the four ways in turn; print the table; return whether the requirements are met."""
    import boto3.s3.transfer  # noqa: F401 - the warm imports

    import faithline.runs.run_stage  # noqa: F401
    from faithline.runs.project import Project

    Project(make_project(folder / "warm-up"), cache=None, private=True).close()
    seconds: dict[str, list[float]] = {
        "bare command": [],
        "dvc repro + push": [],
        "run-stage": [],
        "run-stage, warm": [],
    }
    for number in range(repeats + 1):  # the first round warms file caches and byte-code up
        clones = [make_project(folder / f"clone-{number}-{way}", seed=10 * number + way) for way in range(4)]
        with (clones[1] / ".dvc" / "config").open("a", encoding="utf-8") as file:
            file.write(f"    remote = runs\n['remote \"runs\"']\n    url = {STORE}/bare\n")
        ways = (
            lambda c=clones: command(c[0], "code/first.py"),
            lambda c=clones: with_dvc(c[1]),
            lambda c=clones, n=number: command(c[2], "-m", "faithline.cli", *run_stage(c[2], "first", f"cold-{n}")),
            lambda c=clones, n=number: forked(c[3], "first", f"warm-{n}"),
        )
        for name, way in zip(seconds, ways, strict=True):
            spent = timed(way)
            if number:
                seconds[name].append(spent)
    middle = {name: statistics.median(values) for name, values in seconds.items()}
    for name, values in seconds.items():
        print(f"{name:<18} {middle[name]:6.2f} s   ({min(values):.2f} to {max(values):.2f} s, {repeats} times)")
    over = middle["run-stage, warm"] - middle["bare command"]
    ratio = middle["run-stage"] / middle["dvc repro + push"]
    print(f"over the bare command, warm: {over:.2f} s (at most {MAX_WARM_S:g} s)")
    print(f"against bare DVC: {ratio:.2f} times (at most {MAX_RATIO:g})")
    return over <= MAX_WARM_S and ratio <= MAX_RATIO


def checkpoints(folder: Path, gigabytes: float, shards: int) -> bool:
    """Save a large checkpoint, change one shard, save again; return whether one shard was sent and hashed."""
    model = folder / "model"
    model.mkdir()
    for number in range(shards):
        with (model / f"{number:03d}.safetensors").open("wb") as file:
            file.write(b"%d" % number)
            file.truncate(int(gigabytes * 10**9 / shards))
    store = open_store(f"{STORE}/checkpoints")
    training, met = Checkpoints(store, identity="benchmark", keep=2), True
    print(f"\ncheckpoint of {gigabytes:g} GB in {shards} shards")

    def save(what: str, mine: Checkpoints, step: int, shards_sent: int, shards_hashed: int) -> bool:
        begin = time.perf_counter()
        saved = mine.save(model, step)
        print(
            f"{what:<34} {time.perf_counter() - begin:6.2f} s   {saved.hashed} shards hashed, {saved.sent} sent, "
            f"{saved.sent_bytes / 10**6:.0f} MB"
        )
        return (saved.sent, saved.hashed) == (shards_sent, shards_hashed)

    met &= save("first save", training, 1, shards, shards)
    (model / "007.safetensors").open("r+b").write(b"changed")
    met &= save("one shard changed", training, 2, 1, 1)
    resumed = Checkpoints(store, identity="benchmark", keep=2)
    shutil.rmtree(model)
    print(f"{'fetch in a fresh process':<34} {timed(lambda: resumed.fetch(model)):6.2f} s")
    (model / "008.safetensors").open("r+b").write(b"changed too")
    met &= save("one shard changed after a resume", resumed, 3, 1, 1)
    shutil.rmtree(model)
    return met


def as_output(folder: Path, gigabytes: float, shards: int) -> None:
    """Print what shards cost as an output of DVC."""
    print(f"\n{gigabytes:g} GB in {shards} shards as an output of DVC")
    project = folder / "shards"
    (project / ".dvc").mkdir(parents=True)
    (project / ".dvc" / "config").write_text("[core]\n    analytics = false\n    no_scm = true\n", encoding="utf-8")
    for name, text in {"dvc.yaml": SHARDS_YAML, "train.py": TRAIN, "use.py": USE}.items():
        (project / name).write_text(text, encoding="utf-8")
    (project / ".dvcignore").touch()
    store = open_store(STORE)
    for changed, stages in ((0, ("train", "use")), (1, ("train",))):
        text = f"shards: {shards}\nshard_bytes: {int(gigabytes * 10**9 / shards)}\nchanged: {changed}\n"
        (project / "params.yaml").write_text(text, encoding="utf-8")
        for stage in stages:
            clone = shutil.copytree(project, folder / f"shards-{changed}-{stage}")
            forked(clone, stage, f"shards-{changed}")
            (attempt,) = store.list(f"runs/shards-{changed}/{stage}/attempts/")
            found = store.read(attempt.key)
            record = json.loads(found.content if found else b"{}")
            spent = {name: record["seconds"][name] for name in ("inputs", "stage", "outputs")}
            moved = f"sent {record['sent'][0]} objects, received {record['received'][0]}"
            print(f"changed={changed} {stage:<6} {' '.join(f'{k} {v:.2f} s' for k, v in spent.items())}   {moved}")
            shutil.rmtree(clone)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--server", default="moto", help="moto, or rclone=PATH of the rclone program")
    parser.add_argument("--gigabytes", type=float, default=5.0, help="size of the checkpoint")
    parser.add_argument("--shards", type=int, default=50)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, s3_server(arguments.server, Path(name) / "server") as port:
        os.environ.update(KEYS, AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}", DVC_NO_ANALYTICS="1")
        met = overhead(Path(name), arguments.repeats)
        met &= checkpoints(Path(name), arguments.gigabytes, arguments.shards)
        as_output(Path(name), arguments.gigabytes / 10, arguments.shards)
    print("\nrequirements met" if met else "\nrequirements NOT met")
    sys.exit(not met)


if __name__ == "__main__":
    main()

"""What large checkpoints cost when little of them changes.

    python -m benchmarks.checkpoint_upload [--gigabytes 5] [--shards 50] [--server moto|rclone=PATH]
                                           [--page docs/cluster.md]

1. A checkpoint of many shards (`faithline.store.checkpoints`), saved, one shard changed, saved again: by the process
   that trains, and by one that resumed from the store. Required: one shard hashed, one sent.
2. The same shards, at a tenth of the size, as an output of DVC: what is hashed and sent when one changes, and what the
   next stage costs in a fresh clone. Required: one shard and the folder's list sent.

moto keeps objects in memory, rclone on disk.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.run_stage_overhead import STORE, forked, timed
from benchmarks.store_faults import write_section
from benchmarks.store_servers import KEYS, s3_server
from faithline.store.checkpoints import Checkpoints, Saved
from faithline.store.objects import open_store

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


def write_shards(folder: Path, gigabytes: float, shards: int) -> None:
    """Write a checkpoint of equal shards, each with a content of its own."""
    folder.mkdir()
    for number in range(shards):
        with (folder / f"{number:03d}.safetensors").open("wb") as file:
            file.write(b"%d" % number)
            file.truncate(int(gigabytes * 10**9 / shards))


def change(path: Path, content: bytes) -> None:
    """Change the first bytes of a shard in place."""
    with path.open("r+b") as file:
        file.write(content)


def checkpoints(folder: Path, gigabytes: float, shards: int) -> Iterator[tuple[str, bool]]:
    """Save, change and resume a checkpoint; yield a table row each, and whether it is as required."""
    model = folder / "model"
    write_shards(model, gigabytes, shards)
    store = open_store(f"{STORE}/checkpoints")
    saved: list[Saved] = []

    def save(what: str, mine: Checkpoints, step: int, expected: int) -> tuple[str, bool]:
        spent = timed(lambda: saved.append(mine.save(model, step)))
        done = saved[-1]
        row = f"| {what} | {spent:.1f} s | {done.hashed} | {done.sent} | {done.sent_bytes / 10**6:.0f} MB |"
        return row, (done.hashed, done.sent) == (expected, expected)

    training = Checkpoints(store, identity="benchmark", keep=2)
    yield save("first save", training, 1, shards)
    change(model / "007.safetensors", b"changed")
    yield save("one shard changed", training, 2, 1)
    resumed = Checkpoints(store, identity="benchmark", keep=2)
    shutil.rmtree(model)
    yield f"| fetch by a fresh process | {timed(lambda: resumed.fetch(model)):.1f} s | {shards} | | |", True
    change(model / "008.safetensors", b"changed too")
    yield save("one shard changed after the resume", resumed, 3, 1)
    shutil.rmtree(model)


def as_output(folder: Path, gigabytes: float, shards: int) -> Iterator[tuple[str, bool]]:
    """Run two stages whose data are shards; yield a table row each, and whether it is as required."""
    project = folder / "shards"
    (project / ".dvc").mkdir(parents=True)
    (project / ".dvc" / "config").write_text("[core]\n    analytics = false\n    no_scm = true\n", encoding="utf-8")
    for name, text in {"dvc.yaml": SHARDS_YAML, "train.py": TRAIN, "use.py": USE}.items():
        (project / name).write_text(text, encoding="utf-8")
    (project / ".dvcignore").touch()
    store = open_store(STORE)
    for changed, stage, sent in ((0, "train", shards + 1), (0, "use", 1), (1, "train", 2)):
        text = f"shards: {shards}\nshard_bytes: {int(gigabytes * 10**9 / shards)}\nchanged: {changed}\n"
        (project / "params.yaml").write_text(text, encoding="utf-8")
        clone = shutil.copytree(project, folder / f"shards-{changed}-{stage}")
        forked(clone, stage, f"shards-{changed}")
        shutil.rmtree(clone)
        (attempt,) = store.list(f"runs/shards-{changed}/{stage}/attempts/")
        found = store.read(attempt.key)
        record = json.loads(found.content if found else b"{}")
        spent = " | ".join(f"{record['seconds'][name]:.1f} s" for name in ("inputs", "stage", "outputs"))
        what = f"{stage}{', one shard changed' if changed else ''}"
        yield f"| {what} | {spent} | {record['sent'][0]} | {record['received'][0]} |", record["sent"][0] == sent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=5.0, help="size of the checkpoint")
    parser.add_argument("--shards", type=int, default=50)
    parser.add_argument("--server", default="moto", help="moto, or rclone=PATH of the rclone program")
    parser.add_argument("--page", type=Path, help="Markdown page whose section is replaced")
    arguments = parser.parse_args()
    size, shards = arguments.gigabytes, arguments.shards
    with tempfile.TemporaryDirectory() as name, s3_server(arguments.server, Path(name) / "server") as port:
        os.environ.update(KEYS, AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}", DVC_NO_ANALYTICS="1")
        saves = list(checkpoints(Path(name), size, shards))
        stages = list(as_output(Path(name), size / 10, shards))
    lines = [f"| Checkpoint of {size:g} GB in {shards} shards | Time | Shards hashed | Shards sent | Sent |"]
    lines += ["|---|---|---|---|---|", *(row for row, _ in saves)]
    lines += [
        "",
        f"| Stage, {size / 10:g} GB in {shards} shards as output | Inputs | Stage | Outputs | Sent | Received |",
    ]
    lines += ["|---|---|---|---|---|---|", *(row for row, _ in stages)]
    text = "\n".join(lines)
    print(text)
    if arguments.page:
        write_section(arguments.page, "checkpoint_upload", text)
    sys.exit(not all(met for _, met in (*saves, *stages)))


if __name__ == "__main__":
    main()

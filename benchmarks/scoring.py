"""How long `faithline score` takes.

    python -m benchmarks.scoring [--items 100000] [--out docs/scoring.md]

Writes predictions as a file, runs the command on it as a process, and reports wall time from its start to its end.
Answers are short and long, with typographic marks and numbers; every question has three gold answers.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORDS = [
    "the",
    "Eiffel",
    "tower",
    "of",
    "Paris,",
    "a",
    "“yes”",
    "no",
    "1.5",
    "-3",
    "2,001",
    "Jean-Luc",
    "it’s",
    "U.S.",
    "is",
]


def write(path: Path, items: int) -> None:
    """Write predictions that share some words with their gold answers."""
    rng = random.Random(7)
    with path.open("w", encoding="utf-8") as file:
        for number in range(items):
            gold = [" ".join(rng.choices(WORDS, k=rng.randint(1, 5))) for _ in range(3)]
            said = rng.choice([gold[0], " ".join(rng.choices(WORDS, k=rng.randint(0, 30)))])
            file.write(json.dumps({"id": f"q{number}", "prediction": said, "answers": gold}) + "\n")


def measure(items: int) -> tuple[float, float, bytes]:
    """Score a file of `items` predictions; return wall and processor seconds, and what was printed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "predictions.jsonl"
        write(path, items)
        before, start = os.times(), time.monotonic()
        command = [sys.executable, "-m", "faithline.cli", "score", str(path), "--json"]
        printed = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
        wall, after = time.monotonic() - start, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, cpu, printed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    runs = [measure(arguments.items) for _ in range(2)]
    same = "the same bytes both times" if runs[0][2] == runs[1][2] else "DIFFERENT BYTES"
    where = f"on {os.cpu_count()} CPU cores at a load of {load:.1f}, start of Python included; {same}."
    lines = [
        "# Speed of `faithline score`",
        "",
        f"`python -m benchmarks.scoring --items {arguments.items}` {where}",
        "",
        "| run | predictions | wall | processor time |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {number} | {arguments.items} | {wall:.1f} s | {cpu:.1f} s |"
        for number, (wall, cpu, _) in enumerate(runs, 1)
    ]
    text = "\n".join([*lines, ""])
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()

"""How long `faithline score` takes.

    python -m benchmarks.scoring [--items 100000]

Writes predictions as a file, scores it as the command does, and prints the seconds of wall and processor time. Answers
are short and long, with typographic marks and numbers; every question has three gold answers.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from pathlib import Path

from faithline.metrics.score_file import score_file

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "predictions.jsonl"
        write(path, arguments.items)
        wall, cpu = time.monotonic(), time.process_time()
        scored = score_file(path)
        wall, cpu = time.monotonic() - wall, time.process_time() - cpu
    print(f"{scored.n} predictions: {wall:.1f} s wall, {cpu:.1f} s of processor time, {scored.n / cpu:.0f} a second")


if __name__ == "__main__":
    main()

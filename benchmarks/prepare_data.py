"""Memory and speed of prepare_data and check_data on large HotpotQA-format files of the evidence world.

    python -m benchmarks.prepare_data [--megabytes 100 1000] [--folder FOLDER]

Each file is read, normalised and written by the one stage and measured and judged by the other, each its own command
in a process of its own, after a bare orjson-to-Parquet conversion of the same file in a third. The table shows time,
peak memory, CPU time, and how many cores can be kept busy (CPU time over that of the busiest thread, which a loaded
machine does not change); the last lines compare with what is required of both stages together: 1.5 GiB at most, 1.2
times the smallest file's at most, 30 % of the bare conversion's speed at least, both cores of two used. Files in FOLDER
are kept and used again; without it everything is temporary.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[1]
MAX_GIB, MAX_GROWTH, MIN_SPEED, MIN_CORES = 1.5, 1.2, 0.30, 1.5
QUESTIONS_PER_MB = 400  # more than enough: a question with ten passages has some 4 KB


@dataclass(frozen=True)
class Usage:
    """What one process took."""

    seconds: float
    cpu_seconds: float
    busiest_seconds: float
    """CPU time of the thread that had most."""
    peak_gib: float

    @property
    def cores(self) -> float:
        """CPU time over that of the busiest thread: cores that threads would keep busy on a machine of their own."""
        return self.cpu_seconds / self.busiest_seconds

    def then(self, other: Usage) -> Usage:
        """Usage of this process and then another."""
        return Usage(
            self.seconds + other.seconds,
            self.cpu_seconds + other.cpu_seconds,
            self.busiest_seconds + other.busiest_seconds,
            max(self.peak_gib, other.peak_gib),
        )

    def row(self, name: str, megabytes: float) -> str:
        return (
            f"{megabytes:8.0f} MB  {name:<12}  {self.seconds:7.1f} s  {megabytes / self.seconds:7.1f} MB/s  "
            f"{self.peak_gib:6.2f} GiB  "
            f"{self.cpu_seconds:7.1f} CPU s  {self.cores:5.2f} cores"
        )


def measured(*command: str) -> Usage:
    """Run a command to its end and watch it and all its descendants; it must succeed."""
    start = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    threads: dict[str, float] = {}
    peak_bytes = 0
    while True:
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        if ended:
            break
        seen, resident = look(process.pid)
        threads |= seen
        peak_bytes = max(peak_bytes, resident)
        time.sleep(0.05)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"exit code {process.returncode}: {' '.join(command)}")
    cpu_seconds = max(usage.ru_utime + usage.ru_stime, sum(threads.values()))
    peak = max(usage.ru_maxrss * 1024, peak_bytes)
    return Usage(seconds, cpu_seconds, max(threads.values(), default=cpu_seconds), peak / 2**30)


def look(session: int) -> tuple[dict[str, float], int]:
    """CPU time of each living thread of a session's processes so far, and the memory they hold together.

    Ended threads keep what was last seen of them. Pages that processes share count once for each.
    """
    threads: dict[str, float] = {}
    resident = 0
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        with suppress(OSError):  # a process may end while it is looked at
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) != session:
                continue
            resident += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
            for task in (folder / "task").iterdir():
                fields = (task / "stat").read_text().rpartition(")")[2].split()
                threads[task.name] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return threads, resident


def generate(path: Path, megabytes: int) -> None:
    """Write a HotpotQA file of at least that many megabytes, ten passages a question, no two questions alike."""
    import msgspec

    from faithline.world.comparisons import ask_comparison
    from faithline.world.formats.hotpotqa import hotpotqa_rows
    from faithline.world.questions import ask_chain
    from faithline.world.settings import WorldSettings
    from faithline.world.world import Stream, World

    section = YAML(typ="safe", pure=True).load((ROOT / "params.yaml").read_text(encoding="utf-8"))["generate_sample"]
    world = {name: section[name] for name in ("noise", "questions_per_cluster")} | {"documents_per_question": 10}
    askers = {partial(ask_chain, hops=2): 0.6, ask_comparison: 0.4}
    items = World(7, msgspec.convert(world, WorldSettings)).items(Stream.HOTPOTQA, megabytes * QUESTIONS_PER_MB, askers)
    staged = path.with_suffix(".part")
    with staged.open("wb") as file:
        file.write(b"[")
        for number, row in enumerate(hotpotqa_rows(items)):
            file.write((b",\n" if number else b"\n") + orjson.dumps(row))
            if file.tell() >= megabytes * 10**6:
                break
        file.write(b"\n]\n")
    staged.rename(path)


def bare(path: Path, out: Path) -> None:
    """Convert a file that has one row a line, with nothing checked, joined, split or counted."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    context = pa.list_(pa.struct([("title", pa.string()), ("sentences", pa.list_(pa.string()))]))
    facts = pa.list_(pa.struct([("title", pa.string()), ("sent_id", pa.int64())]))
    texts = ["_id", "question", "answer", "type", "level"]
    schema = pa.schema([*((name, pa.string()) for name in texts), ("context", context), ("supporting_facts", facts)])

    def rows() -> Iterator[dict[str, Any]]:
        with path.open("rb") as file:
            for line in file:
                if line.startswith(b"{"):
                    row = orjson.loads(line.rstrip(b",\n"))
                    row["context"] = [{"title": title, "sentences": text} for title, text in row["context"]]
                    row["supporting_facts"] = [{"title": t, "sent_id": n} for t, n in row["supporting_facts"]]
                    yield row

    left = rows()
    with pq.ParquetWriter(out, schema, compression="zstd") as writer:
        while batch := list(islice(left, 2000)):
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))


def project(folder: Path, source: Path) -> Path:
    """Make a project whose only source is the file."""
    folder.mkdir()
    yaml = YAML(typ="safe", pure=True)
    params = yaml.load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    entry = {"name": "hotpotqa", "format": "hotpotqa", "path": f"{{root}}/{source.name}", "limit": None}
    params["prepare_data"] |= {
        "root": "data/raw/sample",
        "sources": [entry | {"shares": {"train": 0.7, "validation": 0.1, "test": 0.2}}],
    }
    with (folder / "params.yaml").open("w", encoding="utf-8") as file:
        YAML().dump(params, file)
    for name in ("dvc.yaml", "sources.lock.json", "data_snapshot.json"):
        shutil.copy(ROOT / name, folder)
    (folder / "data/raw/sample").mkdir(parents=True)
    (folder / "data/raw/sample" / source.name).symlink_to(source)
    return folder


def compare(folder: Path, sizes: list[int]) -> bool:
    """Measure every size, print the table, and say whether all requirements are met."""
    found: dict[int, tuple[Usage, Usage]] = {}
    for megabytes in sizes:
        source = folder / f"hotpotqa_{megabytes}.json"
        if not source.exists():
            subprocess.run([sys.executable, __file__, "--generate", str(source), str(megabytes)], cwd=ROOT, check=True)
        scratch = folder / "scratch"
        scratch.mkdir()
        try:
            plain = measured(sys.executable, __file__, "--bare", str(source), str(scratch / "bare.parquet"))
            root = project(scratch / "project", source)
            stages = [
                measured(sys.executable, "-m", f"components.{name}", "--root", str(root))
                for name in ("prepare_data", "check_data")
            ]
        finally:
            shutil.rmtree(scratch)
        both = stages[0].then(stages[1])
        found[megabytes] = plain, both
        size = source.stat().st_size / 10**6
        names = ("bare", "prepare_data", "check_data", "both stages")
        for name, usage in zip(names, (plain, *stages, both), strict=True):
            print(usage.row(name, size), flush=True)
    return _verdict(found)


def _verdict(found: dict[int, tuple[Usage, Usage]]) -> bool:
    (_, small), (plain, large) = found[min(found)], found[max(found)]
    speed, growth = plain.seconds / large.seconds, large.peak_gib / small.peak_gib
    checks = [
        (large.peak_gib <= MAX_GIB, f"peak memory {large.peak_gib:.2f} GiB (at most {MAX_GIB})"),
        (growth <= MAX_GROWTH, f"{growth:.2f} times the smallest file's (at most {MAX_GROWTH})"),
        (speed >= MIN_SPEED, f"{speed:.0%} of the bare conversion's speed (at least {MIN_SPEED:.0%})"),
        (large.cores >= MIN_CORES, f"{large.cores:.2f} cores can be busy (at least {MIN_CORES})"),
    ]
    for met, text in checks:
        print("met   " if met else "MISSED", text)
    return all(met for met, _ in checks)


def main() -> int:
    parser = argparse.ArgumentParser(description="Memory and speed of prepare_data and check_data.")
    parser.add_argument("--megabytes", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--bare", type=Path, nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--generate", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    if arguments.bare:
        bare(*arguments.bare)
    elif arguments.generate:
        generate(Path(arguments.generate[0]), int(arguments.generate[1]))
    elif arguments.folder:
        arguments.folder.mkdir(parents=True, exist_ok=True)
        return 0 if compare(arguments.folder.resolve(), arguments.megabytes) else 1
    else:
        with tempfile.TemporaryDirectory() as folder:
            return 0 if compare(Path(folder), arguments.megabytes) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

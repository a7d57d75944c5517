"""What `faithline run-stage` costs beside the bare command and bare DVC, and what compiling a pipeline takes.

    python -m benchmarks.run_stage_overhead [--repeats 5] [--server moto|rclone=PATH] [--page docs/cluster.md]

One small stage, each time in a fresh clone that shares only an S3 server: the command itself; `dvc repro` and
`dvc push`; `run-stage` as a pod starts it; `run-stage` forked from a process with warm imports. Required: with warm
imports at most 3 s over the bare command, as a pod at most 1.5 times bare DVC. Then a pipeline of 20 stages is compiled
for Kubeflow; required: at most 1 s after imports.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.store_faults import write_section
from benchmarks.store_servers import BUCKET, KEYS, make_project, s3_server

STORE = f"s3://{BUCKET}/overhead"
MAX_WARM_S, MAX_RATIO, MAX_COMPILE_S = 3.0, 1.5, 1.0
COMPILED_STAGES = 20
ROOT = Path(__file__).resolve().parents[1]


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


def overhead(folder: Path, repeats: int) -> dict[str, list[float]]:
    """Measure the four ways in turn; seconds of each."""
    import boto3.s3.transfer  # noqa: F401 - the warm imports

    import faithline.runs.run_stage  # noqa: F401
    from faithline.runs.project import Project

    Project(make_project(folder / "warm-up"), cache=None, private=True).close()
    seconds: dict[str, list[float]] = {
        "bare command": [],
        "`dvc repro` and `dvc push`": [],
        "`run-stage`, as a pod": [],
        "`run-stage`, warm imports": [],
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
    return seconds


def compiling(folder: Path) -> list[float]:
    """Seconds of processor time that stages, each after all before it, take to compile, five times, after imports."""
    from faithline.kubeflow.compile import compile_project

    toy = Path(shutil.copytree(ROOT / "tests" / "cluster" / "toy", folder / "chain"))
    meta = "{world: runtime, pool: cpu, cpu: 1, memory_gib: 2, timeout_s: 3600, retries: 1}"
    lines = ["stages:"]
    for number in range(COMPILED_STAGES):
        lines += [f"  stage_{number}:", f"    cmd: make {number}", f"    outs: [data/{number}]", f"    meta: {meta}"]
        lines += [f"    deps: [{', '.join(f'data/{other}' for other in range(number))}]"]
    (toy / "dvc.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    compile_project(toy)
    begins = [time.process_time()]
    for _ in range(5):
        compile_project(toy)
        begins.append(time.process_time())
    return [end - begin for begin, end in itertools.pairwise(begins)]


def report(seconds: dict[str, list[float]], compiled: list[float]) -> tuple[str, bool]:
    """Return the tables, and whether the requirements are met."""
    middle = {name: statistics.median(values) for name, values in seconds.items()}
    bare, with_dvc_s, pod, warm = middle.values()
    lines = ["| One small stage, fresh clone | Median | Range |", "|---|---|---|"]
    lines += [f"| {n} | {middle[n]:.2f} s | {min(v):.2f} to {max(v):.2f} s |" for n, v in seconds.items()]
    needs = [
        ("warm `run-stage` over the bare command", warm - bare, MAX_WARM_S, " s"),
        ("`run-stage` as a pod against bare DVC", pod / with_dvc_s, MAX_RATIO, " times"),
        (
            f"compiling {COMPILED_STAGES} stages for Kubeflow, processor time",
            statistics.median(compiled),
            MAX_COMPILE_S,
            " s",
        ),
    ]
    lines += ["", "| Requirement | At most | Measured |", "|---|---|---|"]
    lines += [f"| {what} | {most:g}{unit} | {found:.2f}{unit} |" for what, found, most, unit in needs]
    return "\n".join(lines), all(found <= most for _, found, most, _ in needs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--server", default="moto", help="moto, or rclone=PATH of the rclone program")
    parser.add_argument("--page", type=Path, help="Markdown page whose section is replaced")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        compiled = compiling(Path(name))  # before moto's millions of objects burden the garbage collector
        with s3_server(arguments.server, Path(name) / "server") as port:
            os.environ.update(KEYS, AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}", DVC_NO_ANALYTICS="1")
            text, met = report(overhead(Path(name), arguments.repeats), compiled)
    print(text)
    if arguments.page:
        write_section(arguments.page, "run_stage_overhead", text)
    sys.exit(not met)


if __name__ == "__main__":
    main()

"""Fault campaign of cluster runs: killed runners, a store that answers badly, the same stage started twice.

    python -m benchmarks.store_faults [--runs 200] [--server moto|rclone=PATH] [--rate 0.04] [--workers 2] [--seed 1]
                                      [--page docs/cluster.md]

Every run is a pipeline of three stages. Each stage is tried again until it ends with 0, as an orchestrator would: a try
may be killed (kill -9) or told to stop (SIGTERM) at a random moment, or have a twin that starts at the same time. All
talk to the server through a proxy that, at random, answers 500 or 503 (SlowDown), waits, breaks an answer off, breaks a
request off, or swallows the answer of a request that went through. Afterwards, without the proxy: every run must be
complete, its lock must be that of a plain `dvc repro` of the same settings, every object must have the content its name
says, and no lease may outlive its lifetime. A fifth of the runs have a stage with another result each time; there, the
stages must fit together. Tries are forked from a process that has loaded everything, so that thousands take minutes.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.store_servers import BUCKET, FAULTS, KEYS, STAGES, client, make_project, proxy, s3_server

LEASE_S = 2.0


class Campaign:
    """A series of runs against one proxy."""

    def __init__(self, folder: Path, proxy_port: int, server_port: int, seed: int) -> None:
        self.folder = folder
        self.dice = random.Random(seed)
        self.server_port = server_port
        self.store = f"s3://{BUCKET}/campaign"
        self.codes: collections.Counter[str] = collections.Counter()
        self.typical_s = 1.0
        self.endpoint = f"http://127.0.0.1:{proxy_port}"
        self.noted: dict[str, Path] = {}

    def start(self, project: Path, stage: str, run_id: str) -> int:
        """Fork one try and return its process id."""
        pid = os.fork()
        if pid:
            return pid
        code = 1
        try:
            os.environ.update(KEYS, AWS_ENDPOINT_URL=self.endpoint, DVC_NO_ANALYTICS="1")
            log = os.open(self.folder / f"{run_id}-{stage}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(log, 1)
            os.dup2(log, 2)
            from faithline import cli

            arguments = ["--root", str(project), "run-stage", stage, "--run-id", run_id, "--store", self.store]
            arguments += ["--workspace", str(self.folder / "work"), "--lease-s", str(LEASE_S), "--wait-s", "60"]
            code = cli.main(arguments)
        except BaseException:  # noqa: BLE001 - a forked try must end here
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def stage(self, project: Path, stage: str, run_id: str) -> None:
        """Try a stage until it ends well."""
        for _ in range(25):
            begin = time.monotonic()
            pids = [self.start(project, stage, run_id) for _ in range(1 + (self.dice.random() < 0.15))]
            fate = self.dice.random()
            if fate < 0.55:
                time.sleep(self.dice.uniform(0, 1.2 * self.typical_s))
                with suppress(ProcessLookupError):
                    os.kill(pids[0], signal.SIGKILL if fate < 0.4 else signal.SIGTERM)
            ends = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
            for code in ends:
                self.codes[f"{stage}: {code}"] += 1
                # A try that is told to stop before it listens ends as any process does.
                if code not in {0, 75, -signal.SIGKILL, -signal.SIGTERM}:
                    raise AssertionError(f"{run_id} {stage} ended with {code}: {self.folder / f'{run_id}-{stage}.log'}")
            if 0 in ends:
                if fate >= 0.55 and len(ends) == 1:
                    self.typical_s = 0.9 * self.typical_s + 0.1 * (time.monotonic() - begin)
                return
        raise AssertionError(f"{run_id} {stage} did not end well in 25 tries")

    def run(self, number: int) -> None:
        """Do one run and check it."""
        noisy = number % 5 == 4
        seed = number % 8
        run_id = f"run-{os.getpid()}-{number}"
        project = make_project(self.folder / run_id, seed=seed, noisy=noisy)
        for stage in STAGES:
            self.stage(project, stage, run_id)
        self.check(project, run_id, None if noisy else seed)
        shutil.rmtree(project)

    def check(self, project: Path, run_id: str, seed: int | None) -> None:
        """Adopt a run past the proxy; its lock must be that of `dvc repro`."""
        from faithline.runs.adopt import adopt
        from faithline.store.objects import open_store

        os.environ.update(KEYS, AWS_ENDPOINT_URL=f"http://127.0.0.1:{self.server_port}")
        adopt(project, open_store(self.store), run_id, with_params=False)
        if seed is not None:
            ours, expected = (project / "dvc.lock").read_bytes(), self.expected(seed)
            if ours != (expected / "dvc.lock").read_bytes():
                raise AssertionError(f"{run_id}: dvc.lock differs from dvc repro's: {project}")
            for name in ("first", "third"):
                if (project / f"metrics/{name}.json").read_bytes() != (expected / f"metrics/{name}.json").read_bytes():
                    raise AssertionError(f"{run_id}: metrics/{name}.json differs")

    def expected(self, seed: int) -> Path:
        """Return a project with these settings after a plain `dvc repro`."""
        if seed not in self.noted:
            folder = make_project(self.folder / f"expected-{os.getpid()}-{seed}", seed=seed)
            subprocess.run([sys.executable, "-m", "dvc", "repro", "-q"], cwd=folder, check=True, timeout=300)
            self.noted[seed] = folder
        return self.noted[seed]


def check_store(server_port: int) -> tuple[int, int]:
    """Check all that is in the store past the proxy; returns how many objects and how many expired leases there are."""
    s3 = client(server_port)
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
    keys = [entry["Key"] for page in pages for entry in page.get("Contents", [])]
    objects = [key for key in keys if "/dvc/files/md5/" in key]
    for key in objects:
        content = s3.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        name = "".join(key.split("/")[-2:]).removesuffix(".dir")
        if hashlib.md5(content).hexdigest() != name:
            raise AssertionError(f"the content of {key} is not what its name says")
    leases = [key for key in keys if key.endswith("/lease.json")]
    time.sleep(LEASE_S + 2)
    os.environ.update(KEYS, AWS_ENDPOINT_URL=f"http://127.0.0.1:{server_port}")
    from faithline.runs.lease import read_holder
    from faithline.store.objects import open_store

    store = open_store(f"s3://{BUCKET}")
    for key in leases:
        holder = read_holder(store, key)
        if holder is not None and not holder.expired:
            raise AssertionError(f"{key} is still held by {holder.owner}")
    return len(objects), len(leases)


@dataclass(frozen=True)
class Outcome:
    """What a campaign came to; everything that can be wrong raises."""

    runs: int
    tries: collections.Counter[str]
    """`STAGE: EXIT CODE` → how many tries ended so."""
    faults: Mapping[str, int]
    objects: int
    """Objects in the store, all checked against their names."""
    leases: int
    """Leases that killed tries left, all expired."""
    workspaces: int
    """Private workspaces that killed tries left; the next try in the same folder removes them."""

    @property
    def codes(self) -> collections.Counter[str]:
        """Exit code → tries of any stage."""
        found: collections.Counter[str] = collections.Counter()
        for name, count in self.tries.items():
            found[name.partition(": ")[2]] += count
        return found


def campaign(folder: Path, server: str, *, runs: int, rate: float, workers: int, seed: int) -> Outcome:
    """Do all runs and check everything."""
    import boto3.s3.transfer  # noqa: F401 - loaded once, before tries are forked

    import faithline.runs.run_stage  # noqa: F401
    from faithline.runs.project import Project

    Project(make_project(folder / "warm-up"), cache=None, private=True).close()
    total: collections.Counter[str] = collections.Counter()
    spoilt = folder / "spoilt.json"
    serving = s3_server(server, folder / "server")
    with serving as port, proxy(port, rate=rate, seed=seed, report=spoilt) as spoiling:
        pids = {}
        for worker in range(workers):
            report = folder / f"worker-{worker}"
            pid = os.fork()
            if not pid:
                code = 1
                try:
                    part = Campaign(folder, spoiling, port, seed * 1000 + worker)
                    for number in range(worker, runs, workers):
                        part.run(number)
                        report.write_text("\n".join(f"{count} {name}" for name, count in part.codes.items()))
                    code = 0
                except BaseException:  # noqa: BLE001 - a forked worker must end here
                    traceback.print_exc()
                finally:
                    sys.stderr.flush()
                    os._exit(code)
            pids[pid] = report
        ends = {pid: os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids}
        if any(ends.values()):
            raise AssertionError(f"a worker failed: logs in {folder}")
        objects, leases = check_store(port)
        for report in pids.values():
            for line in report.read_text().splitlines():
                count, _, name = line.partition(" ")
                total[name] += int(count)
    left = [path for path in (folder / "work").iterdir() if path.is_dir()]
    return Outcome(runs, total, json.loads(spoilt.read_text(encoding="utf-8")), objects, leases, len(left))


def table(server: str, found: Outcome, seconds: float) -> str:
    """Return the outcome as a Markdown table."""
    ends = {"0": "ended well", "75": "ended with 75", "-9": "killed", "-15": "stopped before they listened"}
    rows = [
        ("Server", server.partition("=")[0]),
        ("Runs of three stages, all complete and right", f"{found.runs}"),
        ("Tries", f"{found.codes.total()}: " + ", ".join(f"{found.codes[c]} {what}" for c, what in ends.items())),
        ("Requests spoilt", f"{sum(found.faults.values())}: " + ", ".join(f"{found.faults[n]} {n}" for n in FAULTS)),
        ("Objects in the store, every content as its name says", f"{found.objects}"),
        ("Leases left by killed tries, all expired", f"{found.leases}"),
        ("Workspaces left by killed tries", f"{found.workspaces}"),
        ("Time", f"{seconds / 60:.0f} min"),
    ]
    return "\n".join([f"| {rows[0][0]} | {rows[0][1]} |", "|---|---|", *(f"| {a} | {b} |" for a, b in rows[1:])])


def write_section(page: Path, name: str, text: str) -> None:
    """Replace what stands between the marks of a section of a Markdown page."""
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    content = page.read_text(encoding="utf-8")
    before, mark, rest = content.partition(begin)
    if not mark or end not in rest:
        sys.exit(f"{page} has no section {begin.strip()}")
    page.write_text(f"{before}{begin}{text}\n{rest[rest.index(end) :]}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--server", default="moto", help="moto, or rclone=PATH of the rclone program")
    parser.add_argument("--rate", type=float, default=0.04, help="share of requests that are spoilt")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--page", type=Path, help="Markdown page whose section is replaced")
    arguments = parser.parse_args()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        ends = campaign(
            Path(folder),
            arguments.server,
            runs=arguments.runs,
            rate=arguments.rate,
            workers=arguments.workers,
            seed=arguments.seed,
        )
    text = table(arguments.server, ends, time.monotonic() - begin)
    print(text)
    if arguments.page:
        write_section(arguments.page, f"store_faults {arguments.server.partition('=')[0]}", text)


if __name__ == "__main__":
    main()

"""It learns: reinforcement learning that lowers hallucination, measured by ground truth, on a laptop's CPU.

    python -m benchmarks.learning march [--work FOLDER] [--arms NAME ...] [--backbone models/backbone] [--page FILE]

Warm start, the reward against the truth, one PPO training per arm, one measurement per policy; writes docs/learning.md.
About two hours on two idle cores. Everything is kept in the work folder: the command may be killed and repeated.
Exit code 1 if the first arm does not meet the requirement (see the page).
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learning", description=__doc__)
    systems = parser.add_subparsers(required=True, metavar="SYSTEM")
    march = systems.add_parser("march", help="MARCH on numeric grounding")
    march.add_argument("--work", type=Path, default=ROOT / "logs/learning/march")
    march.add_argument("--backbone", type=Path, default=ROOT / "models/backbone")
    march.add_argument("--arms", nargs="*", help="only these; default: all")
    march.add_argument("--page", type=Path, default=ROOT / "docs/learning.md")
    march.set_defaults(run=_march)
    arguments = parser.parse_args(argv)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    code: int = arguments.run(arguments)
    return code


def _march(arguments: argparse.Namespace) -> int:
    import transformers

    from benchmarks import learning_report as report
    from benchmarks.learning_march import Lab
    from benchmarks.learning_settings import load
    from benchmarks.learning_task import items, measure

    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    started = time.monotonic()

    def say(what: str) -> None:
        sys.stdout.write(f"{time.monotonic() - started:7.0f} s  {what}\n")
        sys.stdout.flush()

    settings = load()
    lab = Lab(settings, arguments.backbone, arguments.work, say)
    start = lab.warm_start()
    agreed = report.agreement(*lab.agreement(start))
    say(f"reward against the truth: {agreed}")
    chosen = items("held_out", settings.items.held_out)
    found = {"warm_start": measure(chosen, lab.responses("warm_start", start))}
    say(f"warm start: wrong-number rate {found['warm_start'].wrong.mean():.1%}")
    for name, arm in settings.arms.items():
        if arguments.arms and name not in arguments.arms:
            continue
        found[name] = measure(chosen, lab.responses(name, lab.arm(name, arm)))
        say(f"{name}: {report.holds(found[name], found['warm_start'])[1]}")
        machine = f"{os.cpu_count()} CPU cores, {platform.machine()}, no GPU"
        page = report.page(settings, found, agreed, lab.seconds(), machine)
        arguments.page.write_text(page, encoding="utf-8")
    trained = [name for name in found if name != "warm_start"]
    return 0 if trained and report.holds(found[trained[0]], found["warm_start"])[0] else 1


if __name__ == "__main__":
    sys.exit(main())

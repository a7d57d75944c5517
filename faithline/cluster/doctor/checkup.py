"""Run the probes of `faithline doctor`, each bounded in time, and say whether something needed fails.

A probe looks at one thing and yields checks. Probes run side by side in threads of their own, so one that hangs (a dead
file server, a firewall that swallows packets) costs its bound and nothing else. A check's text never holds a secret's
value: probes look at names, and addresses are shown without user and password.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from faithline.cluster.settings import Cluster
from faithline.cluster.tasks import Task

__all__ = ["BOUND_S", "Check", "Probe", "Scene", "checkup"]

BOUND_S = 2.0
"""Time of one probe."""
State = Literal["ok", "note", "fail"]


@dataclass(frozen=True)
class Check:
    """One line of the report."""

    name: str
    state: State
    """ok; note: worth knowing, nothing fails for it; fail: something needed is wrong."""
    what: str
    fix: str = ""
    """What to do; empty for ok."""

    def __str__(self) -> str:
        return f"{self.state.upper() if self.state == 'fail' else self.state:<4}  {self.name:<12}  {self.what}" + (
            f" -> {self.fix}" if self.fix else ""
        )


@dataclass(frozen=True)
class Scene:
    """What probes may look at."""

    root: Path
    home: Path
    environment: Mapping[str, str]
    params: Mapping[str, object]
    """The params document; empty if it cannot be read."""
    cluster: Cluster | None
    """None if the section is wrong, which has a line of its own."""
    tasks: tuple[Task, ...]
    for_cluster: bool
    """Whether what only a cluster run needs counts as needed."""

    def lack(self, name: str, what: str, fix: str) -> Check:
        """Report something that only cluster runs need."""
        return Check(name, "fail" if self.for_cluster else "note", what, fix)


Probe = Callable[[Scene], Iterable[Check]]


def checkup(scene: Scene, probes: Sequence[tuple[str, Probe]], bound_s: float = BOUND_S) -> list[Check]:
    """Run all probes and return their checks, in the order of the probes.

    Args:
        scene: What they look at.
        probes: Name and function of each.
        bound_s: Time after which a probe counts as hanging.
    """
    answers: list[queue.Queue[list[Check]]] = []
    for name, probe in probes:
        answer: queue.Queue[list[Check]] = queue.Queue(maxsize=1)
        answers.append(answer)
        # Daemon threads: one that hangs must not keep the process from ending.
        threading.Thread(target=_ask, args=(name, probe, scene, answer), daemon=True).start()
    deadline = time.monotonic() + bound_s
    found: list[Check] = []
    for (name, _), answer in zip(probes, answers, strict=True):
        try:
            found += answer.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            what = f"no answer within {bound_s:g} s"
            found.append(Check(name, "fail", what, "see whether its disk, driver or server hangs"))
    return found


def _ask(name: str, probe: Probe, scene: Scene, answer: queue.Queue[list[Check]]) -> None:
    try:
        answer.put(list(probe(scene)))
    except Exception as error:  # noqa: BLE001 - a probe that breaks is a finding, not the end of the checkup
        answer.put([Check(name, "fail", f"could not be looked at: {type(error).__name__}", "look at it by hand")])

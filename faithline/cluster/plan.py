"""The plan of a run: per stage what happens and why, where, for how long and for how much; nothing is started.

Works offline, from `dvc.lock`, DVC's cache and the run logs. The low end of a sum holds what certainly runs, the high
end also what may run.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from faithline.cluster.dvc_state import StageState, stage_states
from faithline.cluster.estimates import Range, Usage, durations, usage
from faithline.cluster.resources import Resources, stage_resources
from faithline.cluster.settings import load_cluster
from faithline.pipeline.graph import PARAMS_FILE, load_graph
from faithline.pipeline.yaml import read_mapping

__all__ = ["Plan", "StagePlan", "make_plan"]

CHECKPOINTS = "checkpoints"
"""Folder of the training checkpoints (`faithline.store.checkpoints`), one folder per stage."""
NOTHING = Range(0.0, 0.0)


@dataclass(frozen=True)
class StagePlan:
    """What happens to one stage."""

    stage: str
    action: Literal["run", "cached", "resume"]
    certain: bool
    """False: it runs only if a stage before it gives other outputs."""
    reasons: tuple[str, ...]
    pool: str
    nodes: int
    gpus: int
    hours: Range
    gpu_hours: Range
    cost: Range
    basis: str


@dataclass(frozen=True)
class Plan:
    """What happens to all stages, in running order."""

    stages: tuple[StagePlan, ...]
    currency: str

    @property
    def gpu_hours(self) -> Range:
        """GPU-hours of the whole run."""
        return _sum([stage.gpu_hours for stage in self.stages])

    @property
    def cost(self) -> Range:
        """Cost of the whole run."""
        return _sum([stage.cost for stage in self.stages])

    def document(self, budget: float | None) -> dict[str, Any]:
        """Return the plan as plain values."""
        return {
            "stages": [asdict(stage) for stage in self.stages],
            "gpu_hours": asdict(self.gpu_hours),
            "cost": asdict(self.cost),
            "currency": self.currency,
            "budget": budget,
            "over_budget": budget is not None and self.cost.high > budget,
        }


def make_plan(root: Path, *, allow_missing: bool) -> Plan:
    """Plan a run of a project.

    Args:
        root: The project folder.
        allow_missing: Take data that `dvc.lock` names and that is not here for unchanged.

    Raises:
        ConfigError: If `dvc.yaml`, `params.yaml` or `dvc.lock` is wrong.
        Preempted: If another DVC process works on the project.
    """
    graph, cluster = load_graph(root), load_cluster(root)
    wanted = {name: stage_resources(stage, cluster) for name, stage in graph.stages.items()}
    fresh = {name for name, resources in wanted.items() if not resources.cache}
    states = stage_states(root, graph, fresh=fresh, allow_missing=allow_missing)
    params = read_mapping(root / PARAMS_FILE)
    plans = []
    for name in graph.order():
        own = {key: params.get(key) for key in graph.stage(name).params}
        same, every = durations(root / "logs" / f"{name}.jsonl", own)
        pool = cluster.pools[wanted[name].pool]
        plans.append(_stage_plan(root, name, states[name], wanted[name], usage(wanted[name], pool, same, every)))
    return Plan(tuple(plans), currency=cluster.currency)


def _stage_plan(root: Path, name: str, state: StageState, wanted: Resources, once: Usage) -> StagePlan:
    checkpoint = _checkpoint(root, name) if state.runs else None
    resumes = (f"from {checkpoint}",) if checkpoint else ()
    factor = 1.0 if state.runs else 0.0
    low = factor if state.certain and not resumes else 0.0

    def scaled(span: Range) -> Range:
        return Range(span.low * low, span.high * factor)

    return StagePlan(
        stage=name,
        action="resume" if resumes else "run" if state.runs else "cached",
        certain=state.certain,
        reasons=(*state.reasons, *resumes),
        pool=wanted.pool,
        nodes=wanted.nodes,
        gpus=wanted.gpus,
        hours=scaled(once.hours),
        gpu_hours=scaled(once.gpu_hours),
        cost=scaled(once.cost),
        basis=once.basis if state.runs else "",
    )


def _checkpoint(root: Path, stage: str) -> str | None:
    """Word where a stage would resume; the stage itself passes over checkpoints of another training."""
    manifests = (root / CHECKPOINTS / stage / "manifests").glob("*.json")
    newest = max((int(path.stem) for path in manifests if path.stem.isdigit()), default=None)
    return None if newest is None else f"step {newest} in {CHECKPOINTS}/{stage}, if it is of this training"


def _sum(spans: list[Range]) -> Range:
    total = NOTHING
    for span in spans:
        total = total.plus(span)
    return total

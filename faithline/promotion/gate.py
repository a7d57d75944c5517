"""The gate at work: a verdict is found for a finished run, and a candidate that passed becomes the champion.

Both halves first ask whether the run is already in the registry (the same evaluation, byte for byte). Then nothing is
compared or changed again: the stored verdict and bundle come back, so that a repeated run gives the same bytes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import msgspec

from faithline.pipeline.checkout import commit_of
from faithline.pipeline.errors import ConfigError, DataInvalid, GateRejected
from faithline.pipeline.graph import Graph
from faithline.pipeline.records import RECORD, input_digest
from faithline.promotion.bundle import Manifest
from faithline.promotion.evidence import EVALUATION, collect, read_evaluation
from faithline.promotion.lineage import LINEAGE, Lineage, check_chain, read_record
from faithline.promotion.pairing import items_of_file, pair, read_items
from faithline.promotion.registry import Registry, open_registry
from faithline.promotion.settings import Promote
from faithline.promotion.state import Event, State, bundle_of, promoted, rescored, submitted
from faithline.promotion.verdict import VERDICT, Verdict, decide, decide_first, read_verdict

__all__ = ["Promotion", "find_verdict", "promote", "registry_of", "rescore"]

WORKSPACE = "FAITHLINE_WORKSPACE"
"""Set while a stage runs in a workspace that is thrown away; see `faithline.runs.processes`."""
ITEMS = f"{EVALUATION}/items.parquet"


@dataclass(frozen=True)
class Promotion:
    """What became of a candidate."""

    manifest: Manifest
    state: State
    """The registry after it."""
    known: bool
    """Whether it was in the registry before."""


def registry_of(root: Path, settings: Promote) -> Registry:
    """Open a project's registry.

    Raises:
        ConfigError: If a run of a cluster would keep it in a workspace that does not last.
    """
    address = settings.registry
    if os.environ.get(WORKSPACE) and "://" not in address and not Path(address).is_absolute():
        raise ConfigError(
            f"the registry `{address}` would lie in a workspace that does not outlast the run",
            where="params.yaml: promote.registry",
            next_step="name a shared one: s3://BUCKET/PREFIX",
        )
    return open_registry(address, root)


def find_verdict(root: Path, registry: Registry, settings: Promote) -> Verdict:
    """Compare a project's evaluation with the champion's.

    Raises:
        DataInvalid: If they are not about the same items, or either is damaged.
    """
    state = registry.state()
    known = _known(root, registry, state)
    if known is not None:
        return msgspec.json.decode(registry.file(*known, "verdict.json"), type=Verdict)
    result = read_evaluation(root)
    ours = items_of_file(root / "data/evaluation/items.parquet", result.normalisation)
    if state.champion is None or state.bundle is None:
        return decide_first(ours, settings)
    if state.scores is not None:
        content, where = registry.scores(state.scores), f"{registry.url}/{state.scores}"
    else:
        content, where = registry.file(state.champion, state.bundle, ITEMS), f"{registry.url}: {state.champion}"
    return decide(pair(ours, read_items(content, where, result.normalisation)), settings, state.champion)


def promote(root: Path, graph: Graph, registry: Registry, settings: Promote, folder: Path) -> Promotion:
    """Promote (or submit) a candidate whose verdict says so.

    Args:
        root: The project.
        graph: Its pipeline.
        registry: Where champions are.
        settings: The gate's settings.
        folder: Where to put the bundle; it must not exist.

    Raises:
        GateRejected: If the verdict says otherwise.
        DataInvalid: If the champion has changed since the comparison: nothing is promoted.
    """
    verdict = read_verdict(root / VERDICT)
    if verdict.verdict != "promote":
        raise _rejected(verdict)
    state = registry.state()
    known = _known(root, registry, state)
    if known is not None:
        return Promotion(registry.fetch_bundle(*known, folder), state, known=True)
    folder.mkdir(parents=True)
    manifest = collect(folder, root, graph, settings)
    registry.add_bundle(folder)
    waits = settings.approval == "required"
    move = submitted if waits else promoted
    after = registry.change(
        "submitted" if waits else "promoted",
        manifest.version,
        manifest.bundle,
        lambda before, event: move(before, event, verdict.champion),
        reason="; ".join(verdict.reasons),
        commit=commit_of(root),
    )
    return Promotion(manifest, after, known=False)


def rescore(root: Path, registry: Registry, settings: Promote, reason: str) -> State:
    """Take a project's evaluation as the champion's scores, after it answered other items.

    Raises:
        ConfigError: If there is no champion.
        DataInvalid: If the answers are not the champion's, or the evaluation is damaged.
    """
    state = registry.state()
    if state.champion is None or state.bundle is None:
        raise ConfigError("there is no champion to score again", where=registry.url, next_step="run `dvc repro`")
    version, digest = state.champion, state.bundle
    check_chain(root, settings.models, compared=False)
    champions = msgspec.json.decode(registry.file(version, digest, LINEAGE), type=Lineage).models
    answered_with = read_record(root / "data/answers").inputs
    for model in settings.models:
        if model not in champions or answered_with.get(model) != champions[model]:
            raise DataInvalid(
                f"these answers were not given by the champion's `{model}`",
                where=f"data/answers/{RECORD}: inputs",
                next_step=f"`faithline promote fetch FOLDER`, copy its adapters to `{model}`, then run the components "
                "answer and evaluate",
            )
    path = root / "data/evaluation/items.parquet"
    items_of_file(path, read_evaluation(root).normalisation)
    key = registry.add_scores(path.read_bytes())

    def move(before: State, event: Event) -> State:
        if before.champion != version:
            raise DataInvalid("the champion has changed meanwhile", where=registry.url, next_step="run it again")
        return rescored(before, event, key)

    return registry.change("rescored", version, digest, move, reason=reason, commit=commit_of(root))


def _known(root: Path, registry: Registry, state: State) -> tuple[str, str] | None:
    """Version and digest of the champion or waiting candidate whose evaluation is the project's."""
    own = input_digest(root / "data/evaluation")
    waiting = state.pending.version if state.pending else None
    for version in filter(None, (state.champion, waiting)):
        digest = bundle_of(state, version)
        record = registry.manifest(version, digest).files.get(f"{EVALUATION}/{RECORD}")
        if record is not None and record.sha256 == own:
            return version, digest
    return None


def _rejected(verdict: Verdict) -> GateRejected:
    stays = f"{verdict.champion} stays the champion" if verdict.champion else "there is still no champion"
    word = "undecided" if verdict.verdict == "undecided" else "keep the champion"
    needed = f"about {verdict.items_needed} items would show the least improvement" if verdict.items_needed else ""
    more = f" ({needed})" if needed and verdict.verdict == "undecided" else ""
    advice = "evaluate on more items" + more if verdict.verdict == "undecided" else "see reports/report.html"
    return GateRejected(f"{word}: {'; '.join(verdict.reasons)}", where=VERDICT, next_step=f"{stays}; {advice}")

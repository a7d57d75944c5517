"""What goes into an evidence bundle, collected from a finished run.

    README.md            model card                     adapters/<name>/...   the adapters, whole
    verdict.json         the gate's verdict              evaluation/...        items, slices, record
    lineage.json         records of all inputs           evidence/...          every file the stage depends on: noise
    dvc.lock             the stages before the verdict     ledger, gates, metrics, plots, report
    dvc.yaml params.yaml the pipeline and its settings   sbom.cdx.json         bill of materials of the runtime
    reproduce.sh         commands, and expected.sha256

It holds no time, no host and no commit: the same run gives the same bundle (the registry's history names the commit).
Which evidence there is, `dvc.yaml` says: the files that the stage `promote` depends on.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import msgspec

from faithline.metrics.slices import Evaluation
from faithline.pipeline.errors import DataInvalid
from faithline.pipeline.graph import PARAMS_FILE, PIPELINE_FILE, Graph
from faithline.pipeline.records import RECORD, file_digest, input_digest, tree_files, write_json
from faithline.promotion.bundle import Manifest, seal
from faithline.promotion.card import Card, card
from faithline.promotion.lineage import LINEAGE, Lineage, ancestors, check_chain, lock_text, read_record, settings_text
from faithline.promotion.materials import bill_of_lock, read_lock
from faithline.promotion.settings import Promote
from faithline.promotion.verdict import VERDICT, read_verdict

__all__ = ["collect", "read_evaluation"]

EVALUATION = "evaluation"


class _Backbone(msgspec.Struct):
    name: str


class _FetchParams(msgspec.Struct):
    """The part of `fetch_models`' settings that the card names."""

    backbone: _Backbone


_REPRODUCE = """\
#!/bin/sh
# Run in a checkout of the commit that `faithline promote status` names for this version; every file is compared with
# what was promoted, and the hashes of the code are in the bundle's dvc.lock.
set -eu
bundle=$(cd "$(dirname "$0")" && pwd)
faithline params apply "$bundle/params.yaml"
dvc repro evaluate
sha256sum -c "$bundle/expected.sha256"
"""


def collect(folder: Path, root: Path, graph: Graph, settings: Promote) -> Manifest:
    """Write and seal the bundle of a project's run.

    Args:
        folder: An empty folder.
        root: The project.
        graph: Its pipeline.
        settings: The gate's settings.

    Raises:
        DataInvalid: If the run's parts do not belong together, or one is missing.
    """
    check_chain(root, settings.models, compared=True)
    verdict, result = read_verdict(root / VERDICT), read_evaluation(root)
    before = [*ancestors(graph, "compare"), "compare"]
    lock, unlocked = lock_text(root, before)
    _copy(root / "data/evaluation", folder / EVALUATION)
    for model in settings.models:
        _copy(root / model, folder / "adapters" / Path(model).name)
    deps = graph.stage("promote").deps
    for dep in (dep for dep in deps if (root / dep).is_file()):
        _copy(root / dep, folder / "evidence" / dep)
    write_json(folder / "sbom.cdx.json", bill_of_lock(read_lock(root)))
    _copy(root / PIPELINE_FILE, folder / PIPELINE_FILE)
    sections = {key for stage in [*before, "promote"] for key in graph.stage(stage).params}
    (folder / PARAMS_FILE).write_text(settings_text(root, sections), encoding="utf-8")
    _copy(root / VERDICT, folder / "verdict.json")
    (folder / "dvc.lock").write_text(lock, encoding="utf-8")
    (folder / "reproduce.sh").write_text(_REPRODUCE, encoding="utf-8")
    (folder / "expected.sha256").write_text(_expected(root, settings), encoding="utf-8")
    records = _records(root, deps)
    models = {model: input_digest(root / model) for model in settings.models}
    lineage = Lineage(models=models, records=records, stages_without_lock=unlocked)
    write_json(folder / LINEAGE, msgspec.to_builtins(lineage))
    about = Card(
        name=settings.name,
        licence=settings.licence,
        base_model=_base_model(records),
        adapters={Path(model).name: digest for model, digest in models.items()},
        reproduce="faithline verify-bundle .\nsh reproduce.sh   # in a checkout of the project\n\n" + _REPRODUCE,
        unlocked=unlocked,
    )
    (folder / "README.md").write_text(card(about, verdict, result), encoding="utf-8")
    return seal(folder)


def read_evaluation(root: Path) -> Evaluation:
    """Read the slices of the stage `evaluate`.

    Raises:
        DataInvalid: If they are missing or broken.
    """
    path = root / "data/evaluation/slices.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=Evaluation)
    except FileNotFoundError:
        raise DataInvalid("input not found", where=str(path), next_step="run `dvc repro evaluate`") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataInvalid(f"broken file: {error}", where=str(path), next_step="run `dvc repro -f evaluate`") from None


def _records(root: Path, deps: Iterable[str]) -> dict[str, object]:
    """Output folder → its record, for every record among the dependencies."""
    folders = [Path(dep).parent if Path(dep).name == RECORD else Path(dep) for dep in deps]
    found = sorted({folder.as_posix() for folder in folders if (root / folder / RECORD).is_file()})
    return {folder: msgspec.to_builtins(read_record(root / folder)) for folder in found}


def _base_model(records: dict[str, object]) -> str:
    """Name of the backbone, from the record of the stage that fetched it."""
    record = msgspec.convert(records.get("models/backbone", {}), dict[str, object])
    try:
        return msgspec.convert(record.get("params"), _FetchParams).backbone.name
    except msgspec.ValidationError:
        return "unknown"


def _expected(root: Path, settings: Promote) -> str:
    places = [path for model in settings.models for path in tree_files(root / model)]
    places += [root / "data/evaluation/items.parquet", root / "data/evaluation/slices.json"]
    return "".join(f"{file_digest(path)}  {path.relative_to(root).as_posix()}\n" for path in places)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, copy_function=shutil.copyfile)
    else:
        shutil.copyfile(source, target)

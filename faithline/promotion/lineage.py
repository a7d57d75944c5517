"""Where a promotion came from: the records of every input, the part of dvc.lock that made it, the commit.

A record names its inputs by the digests of their own records, so the chain from the adapters over the answers and the
evaluation to the verdict can be checked link by link: what is promoted is what was evaluated, or it is an error.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import msgspec
from ruamel.yaml import YAML

from faithline.pipeline.errors import DataInvalid
from faithline.pipeline.graph import PARAMS_FILE, Graph
from faithline.pipeline.records import RECORD, Record, input_digest
from faithline.pipeline.yaml import read_mapping

__all__ = [
    "LINEAGE",
    "Lineage",
    "ancestors",
    "check_chain",
    "lock_text",
    "read_record",
    "settings_text",
]

LOCK = "dvc.lock"
LINEAGE = "lineage.json"
"""File of a bundle that holds a `Lineage`."""


class Lineage(msgspec.Struct, frozen=True):
    """Where the adapters of a bundle came from."""

    models: dict[str, str]
    """Adapter folder of the project → digest by which the records of later stages name it."""
    records: dict[str, object]
    """Output folder → its record."""
    stages_without_lock: list[str]
    """Stages before the verdict that dvc.lock does not know."""


def read_record(folder: Path) -> Record:
    """Read the record of an output folder.

    Raises:
        DataInvalid: If there is none or it is broken.
    """
    path = folder / RECORD
    try:
        return msgspec.json.decode(path.read_bytes(), type=Record)
    except FileNotFoundError:
        raise DataInvalid(
            "no record: the output is not complete", where=str(path), next_step="run `dvc repro`"
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataInvalid(f"broken record: {error}", where=str(path), next_step="run `dvc repro`") from None


def check_chain(root: Path, models: Iterable[str], *, compared: bool) -> None:
    """Check that the evaluation is of the answers, the answers are of these adapters, and the verdict of both.

    Args:
        root: The project folder.
        models: The adapter folders.
        compared: Whether the verdict is a link of the chain.

    Raises:
        DataInvalid: If a link does not fit.
    """
    links = [("data/answers", model) for model in models] + [("data/evaluation", "data/answers")]
    if compared:
        links.append(("data/comparison", "data/evaluation"))
    for made, given in links:
        if read_record(root / made).inputs.get(given) != input_digest(root / given):
            raise DataInvalid(
                f"`{made}` was not made from the present `{given}`: what would be promoted is not what was evaluated",
                where=f"{made}/{RECORD}: inputs",
                next_step="run `dvc repro`",
            )


def ancestors(graph: Graph, stage: str) -> list[str]:
    """Names of all stages before a stage, in the order of `dvc.yaml`."""
    found, todo = set[str](), [stage]
    while todo:
        for name in graph.upstream(todo.pop()):
            if name not in found:
                found.add(name)
                todo.append(name)
    return [name for name in graph.stages if name in found]


def lock_text(root: Path, stages: list[str]) -> tuple[str, list[str]]:
    """The part of `dvc.lock` about some stages, and the stages that are not in it (a run outside DVC has none)."""
    path = root / LOCK
    document: Mapping[str, object] = read_mapping(path) if path.is_file() else {}
    entries = document.get("stages")
    known = {name: entries[name] for name in stages if name in entries} if isinstance(entries, dict) else {}
    text = io.StringIO()
    YAML(typ="safe", pure=True).dump({"schema": "2.0", "stages": known}, text)
    return text.getvalue(), [name for name in stages if name not in known]


def settings_text(root: Path, sections: Collection[str]) -> str:
    """`params.yaml` with some of its sections only, comments kept: where a run took place is no part of what it was."""
    round_trip, text = YAML(), io.StringIO()
    round_trip.preserve_quotes = True
    document = round_trip.load((root / PARAMS_FILE).read_text(encoding="utf-8"))
    for key in [key for key in document if key not in sections]:
        del document[key]
    round_trip.dump(document, text)
    return text.getvalue()

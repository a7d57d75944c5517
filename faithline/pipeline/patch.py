"""Patch documents: `conf/*.yaml` merged into `params.yaml`, comments kept, checked before anything is written."""

from __future__ import annotations

import importlib
import io
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from ruamel.yaml import YAML
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.representer import RoundTripRepresenter

from faithline.pipeline.errors import ConfigError
from faithline.pipeline.graph import PARAMS_FILE, Graph, Stage, load_graph
from faithline.pipeline.params import SHARED_SECTIONS, check_top_level, convert, load_params
from faithline.pipeline.yaml import read_mapping

Change = tuple[str, object, object]


def check_project(root: Path) -> list[str]:
    """Load the settings of every stage of `root/dvc.yaml` and return the stages' names.

    Raises:
        ConfigError: On the first setting that is unknown, missing or of the wrong type.
    """
    graph = load_graph(root)
    for stage in graph.stages.values():
        load_params(root, graph, stage, params_type(stage))
    _check_shared(read_mapping(root / PARAMS_FILE), root / PARAMS_FILE)
    return list(graph.stages)


def params_type(stage: Stage) -> type[msgspec.Struct]:
    """Return the `Params` Struct of the component a stage runs.

    Raises:
        ConfigError: If the stage's command is not `python -m components.NAME`.
    """
    match = re.fullmatch(r"python -m (components\.\w+)", stage.cmd)
    if match is None:
        raise ConfigError(
            f"the command `{stage.cmd}` runs no component",
            where=f"dvc.yaml: {stage.name}: cmd",
            next_step="use `python -m components.NAME`",
        )
    struct: type[msgspec.Struct] = importlib.import_module(f"{match[1]}.params").Params
    return struct


def apply_patch(root: Path, patch_file: Path) -> list[Change]:
    """Merge `patch_file` into `root/params.yaml` and return the changed settings as (key, old, new).

    Mappings are merged key by key, everything else (lists too) is replaced. The merged document must load; otherwise
    `params.yaml` stays as it was.

    Raises:
        ConfigError: If the patch names an unknown key or gives a value of the wrong type.
    """
    path = root / PARAMS_FILE
    patch = read_mapping(patch_file)
    round_trip = YAML()
    round_trip.preserve_quotes = True
    round_trip.width = 10_000
    round_trip.representer.add_representer(type(None), _null)
    read_mapping(path)  # reports a broken file in one line; the round-trip reader would print a traceback
    document = round_trip.load(path.read_text(encoding="utf-8"))
    changes: list[Change] = []
    _merge(document, patch, "", changes)
    if changes:
        text = io.StringIO()
        round_trip.dump(document, text)
        _check_text(load_graph(root), text.getvalue(), patch_file)
        staged = path.with_name(f".{path.name}.{os.getpid()}")
        staged.write_text(text.getvalue(), encoding="utf-8")
        staged.replace(path)
    return changes


def _merge(target: Any, patch: Mapping[str, Any], where: str, changes: list[Change]) -> None:
    for key, value in patch.items():
        place = f"{where}.{key}" if where else str(key)
        if key not in target:
            # New entries of a mapping by name (limits of one more set) are fine: the types tell, in `_check_text`.
            changes.append((place, None, value))
            target[key] = value
        elif isinstance(value, Mapping) and isinstance(target[key], Mapping):
            _merge(target[key], value, place, changes)
        elif target[key] != value:
            changes.append((place, _plain(target[key]), value))
            target[key] = value


def _null(representer: RoundTripRepresenter, _value: None) -> ScalarNode:
    """Write `null`, where the library's default is to write nothing."""
    return representer.represent_scalar("tag:yaml.org,2002:null", "null")


def _plain(value: object) -> object:
    return YAML(typ="safe", pure=True).load(_dump(value)) if isinstance(value, (dict, list)) else value


def _dump(value: object) -> str:
    text = io.StringIO()
    YAML().dump(value, text)
    return text.getvalue()


def _check_text(graph: Graph, text: str, source: Path) -> None:
    raw = YAML(typ="safe", pure=True).load(text)
    check_top_level(raw, graph.param_keys(), source)
    for stage in graph.stages.values():
        struct = params_type(stage)
        convert({key: raw[key] for key in struct.__struct_fields__ if key in raw}, struct, source)
    _check_shared(raw, source)


def _check_shared(raw: Mapping[str, object], path: Path) -> None:
    for section, module in SHARED_SECTIONS.items():
        if section in raw:
            convert({section: raw[section]}, importlib.import_module(module).Params, path)

"""The typed loader of `params.yaml`.

A stage declares a `msgspec.Struct` whose fields are exactly the top-level keys it lists under `params:` in `dvc.yaml`.
Loading is strict: an unknown key is an error that names the nearest known one, a number written as text is an error,
a missing key is an error. There are no defaults in code.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from faithline.pipeline.errors import ConfigError
from faithline.pipeline.graph import PARAMS_FILE, Graph, Stage
from faithline.pipeline.yaml import read_mapping

P = TypeVar("P", bound=msgspec.Struct)
SHARED_SECTIONS = {"cluster": "faithline.cluster.settings"}
"""Top-level keys that no stage depends on, so that changing them re-runs nothing, and the module whose `Params` types
them."""


def load_params(root: Path, graph: Graph, stage: Stage, params_type: type[P]) -> P:
    """Read the sections a stage depends on from `root/params.yaml`.

    Args:
        root: The project folder.
        graph: The pipeline; a top-level key that none of its stages lists is unknown.
        stage: The stage that is about to run.
        params_type: Struct with one field per key in the stage's `params:`.

    Raises:
        ConfigError: On unknown, missing or wrongly typed keys.
    """
    path = root / PARAMS_FILE
    raw = read_mapping(path)
    check_top_level(raw, graph.param_keys(), path)
    fields = set(params_type.__struct_fields__)
    if fields != set(stage.params):
        difference = sorted(fields ^ set(stage.params))
        raise ConfigError(
            f"stage {stage.name} reads other params than it declares: {', '.join(difference)}",
            where=f"dvc.yaml: {stage.name}: params",
            next_step="list exactly the sections that the stage's Params names",
        )
    return convert({key: value for key, value in raw.items() if key in fields}, params_type, path)


def load_section(root: Path, section: str, kind: type[P]) -> P:
    """Read one section of `root/params.yaml`, for a command that runs outside the pipeline.

    Raises:
        ConfigError: If the file or the section is missing or wrong.
    """
    path = root / PARAMS_FILE
    own = {key: value for key, value in read_mapping(path).items() if key == section}
    settings: P = getattr(convert(own, msgspec.defstruct("Section", [(section, kind)]), path), section)
    return settings


def check_top_level(raw: Mapping[str, object], known: frozenset[str], path: Path) -> None:
    """Refuse top-level keys that no stage depends on, the shared sections excepted."""
    for key in raw:
        if key not in known and key not in SHARED_SECTIONS:
            raise _unknown(str(key), "", sorted({*known, *SHARED_SECTIONS}), path)


def convert(raw: Mapping[str, object], params_type: type[P], path: Path) -> P:
    """Convert plain YAML values to `params_type`, strictly.

    Raises:
        ConfigError: Naming the file, the key and the remedy.
    """
    for where, key, known in _unknown_keys(raw, params_type, ""):
        raise _unknown(key, where, known, path)
    try:
        return msgspec.convert(raw, params_type, strict=True)
    except msgspec.ValidationError as error:
        what, key = _split(str(error))
        raise ConfigError(what, where=f"{path}: {key}" if key else str(path), next_step=_advice(raw, key)) from None


def _unknown(key: str, where: str, known: list[str], path: Path) -> ConfigError:
    return ConfigError(f"unknown key `{key}`", where=f"{path}: {where or 'top level'}", next_step=nearest(key, known))


def nearest(key: str, known: list[str]) -> str:
    """Word the advice for an unknown key: the known one it resembles, else all of them."""
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    return f"did you mean `{near[0]}`?" if near else f"known keys: {', '.join(known)}"


def _unknown_keys(raw: object, kind: Any, where: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield (place, key, known keys) for every mapping key its Struct does not have."""
    origin = get_origin(kind)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and isinstance(raw, Mapping):
        hints = get_type_hints(kind)
        tag = kind.__struct_config__.tag_field
        for key, value in raw.items():
            place = f"{where}.{key}" if where else str(key)
            if key == tag:
                continue
            if key not in hints:
                yield where, str(key), sorted(kind.__struct_fields__)
            else:
                yield from _unknown_keys(value, hints[key], place)
    elif origin in (Union, UnionType):
        yield from _in_union(raw, get_args(kind), where)
    elif origin in (list, tuple) and isinstance(raw, list):
        for index, value in enumerate(raw):
            yield from _unknown_keys(value, get_args(kind)[0], f"{where}[{index}]")
    elif origin is dict and isinstance(raw, Mapping):
        for key, value in raw.items():
            yield from _unknown_keys(value, get_args(kind)[1], f"{where}.{key}")


def _in_union(raw: object, members: tuple[Any, ...], where: str) -> Iterator[tuple[str, str, list[str]]]:
    structs = [member for member in members if isinstance(member, type) and issubclass(member, msgspec.Struct)]
    if isinstance(raw, Mapping) and structs:
        tagged = [s for s in structs if raw.get(str(s.__struct_config__.tag_field)) == s.__struct_config__.tag]
        chosen = tagged or (structs if len(structs) == 1 else [])
        for struct in chosen:
            yield from _unknown_keys(raw, struct, where)
        return
    for member in members:
        if get_origin(member) in (list, tuple, dict):
            yield from _unknown_keys(raw, member, where)


def _split(message: str) -> tuple[str, str]:
    """Split msgspec's message into the complaint and the dotted key."""
    match = re.fullmatch(r"(.*?)(?: - at `\$\.?(.*)`)?", message, re.DOTALL)
    if match is None:
        return message, ""
    what = match[1].replace("Object missing required field", "missing key")
    return what[:1].lower() + what[1:], match[2] or ""


def _advice(raw: object, key: str) -> str:
    node: Any = raw
    for part in re.findall(r"[^.\[\]]+", key):
        if isinstance(node, Mapping):
            node = node.get(part)
        elif isinstance(node, list) and part.isdigit() and int(part) < len(node):
            node = node[int(part)]
        else:
            node = None
    if isinstance(node, str) and re.fullmatch(r"[-+]?[\d_.]+([eE][-+]?\d+)?", node.strip()):
        return f"{node!r} is text: write the number without quotes, with a decimal point before an exponent (1.0e-6)"
    return "see the comment beside the key in params.yaml"

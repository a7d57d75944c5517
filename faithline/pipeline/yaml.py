"""YAML as the pipeline reads it: version 1.2 (so `1e-6` is a number), no duplicate keys, a mapping at the top."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from faithline.pipeline.errors import ConfigError


def read_mapping(path: Path) -> dict[str, Any]:
    """Read a YAML file whose top level is a mapping.

    Raises:
        ConfigError: If the file is missing, is not YAML, or holds something else; the message names the line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError("file not found", where=str(path), next_step="run from the project's root folder") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"not UTF-8 text: {error.reason}", where=str(path)) from None
    try:
        document = YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        raise ConfigError(f"not valid YAML: {_flat(error)}", where=str(path)) from None
    if not isinstance(document, dict):
        raise ConfigError("expected a mapping at the top level", where=str(path))
    return document


def _flat(error: YAMLError) -> str:
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    mark = getattr(error, "problem_mark", None)
    return f"{problem} (line {mark.line + 1})" if mark is not None else str(problem)

"""`faithline lint`: check rendered manifests, or what the project would render."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faithline.commands import Commands

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Add the command."""
    lint = commands.add_parser("lint", help="check rendered manifests; exit 20 if something is wrong")
    lint.add_argument(
        "paths", type=Path, nargs="*", help="YAML files or folders of them; none: what `faithline kfp compile` writes"
    )
    lint.set_defaults(command=_lint)


def _lint(arguments: argparse.Namespace) -> int:
    from faithline.cluster.lint import lint_documents, lint_file
    from faithline.cluster.settings import load_cluster
    from faithline.pipeline.errors import ConfigError, ExitCode

    pools = load_cluster(arguments.root).pools
    if arguments.paths:
        files = [file for path in arguments.paths for file in _files(path)]
        if not files:
            raise ConfigError("no YAML file there", where=", ".join(map(str, arguments.paths)))
        found = [(str(file), finding) for file in files for finding in lint_file(file, pools)]
        seen = f"{len(files)} files"
    else:
        from faithline.kubeflow.compile import compile_documents

        documents = compile_documents(arguments.root)
        found = [("kfp compile", finding) for finding in lint_documents(documents, pools, "kfp compile")]
        seen = "the compiled pipeline"
    for source, finding in found:
        print(f"{source}: {finding}")
    print(f"lint: {len(found)} findings in {seen}" if found else f"lint: {seen}: nothing to mend")
    return ExitCode.DATA_INVALID if found else ExitCode.OK


def _files(path: Path) -> list[Path]:
    return sorted(p for p in path.rglob("*") if p.suffix in {".yaml", ".yml"}) if path.is_dir() else [path]

"""`faithline verify-bundle`: check every byte of an evidence bundle."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faithline.commands import Commands

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Add the command."""
    verify = commands.add_parser("verify-bundle", help="check every byte of an evidence bundle; exit 20 if one changed")
    verify.add_argument("path", type=Path, help="the bundle's folder, such as data/promotion/bundle")
    verify.add_argument("--digest", help="what its digest must be, as `faithline promote status --json` says")
    verify.set_defaults(command=_verify)


def _verify(arguments: argparse.Namespace) -> None:
    from faithline.promotion.bundle import verify_bundle

    manifest = verify_bundle(arguments.path, arguments.digest)
    size = sum(file.size for file in manifest.files.values())
    print(f"{arguments.path}: version {manifest.version}, {len(manifest.files)} files, {size} bytes, nothing changed")
    print(f"digest {manifest.bundle}")

"""`faithline noise PATH`: the noise statistics of a prepared folder, or of one raw file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faithline.commands import Commands

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Add the command."""
    noise = commands.add_parser("noise", help="measure the noise of data/prepared or of one raw file")
    noise.add_argument("path", type=Path, help="prepared folder, or a raw file (ragtruth, faithbench: folder)")
    noise.add_argument("--format", metavar="NAME", help="of a raw file; told from its name when absent")
    noise.add_argument("--json", action="store_true", help="print everything as JSON, not the two tables")
    noise.set_defaults(command=_noise)


def _noise(arguments: argparse.Namespace) -> None:
    from faithline.data.raw_tables import raw_tables
    from faithline.data.source_settings import FORMATS
    from faithline.noise.command import noise_command, shown
    from faithline.noise.settings import Noise
    from faithline.pipeline.params import load_section

    settings = load_section(arguments.root, "noise", Noise)
    print(shown(noise_command(arguments.path, arguments.format, settings, FORMATS, raw_tables), as_json=arguments.json))

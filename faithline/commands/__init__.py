"""The groups of subcommands of `faithline`, one module each.

A module offers `add(commands)`: it adds its parsers and sets `command` to a function of the parsed arguments. What the
function needs is imported inside it, for the parser of every group is built at every call.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    Commands: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]  # argparse has no public name for it
    """What `ArgumentParser.add_subparsers` returns."""


def seconds(text: str) -> float:
    """Read an argument that is a duration."""
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and a million seconds")
    return value

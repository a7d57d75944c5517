"""Which commit a project is checked out at, for the records that people read."""

from __future__ import annotations

import subprocess
from pathlib import Path

__all__ = ["commit_of"]


def commit_of(root: Path) -> str | None:
    """The commit that is checked out; None outside a repository or with uncommitted changes."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return None if git("status", "--porcelain", "--untracked-files=no") else git("rev-parse", "HEAD")
    except (OSError, subprocess.CalledProcessError):
        return None

"""Git tags of a promotion, named as GTO does: `<artifact>@v<major>.0.0`, one per adapter and one for the data.

The number is how often the champion has changed, so a rollback gets a number of its own. Tags are only names for a
commit; the registry alone says what is in force.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from faithline.pipeline.errors import ConfigError
from faithline.promotion.settings import Promote
from faithline.promotion.state import CHAMPION_CHANGES, State

__all__ = ["make_tags", "tag_names"]


def tag_names(settings: Promote, state: State) -> list[str]:
    """Name the tags of the present champion."""
    return [f"{name}@v{state.generation}.0.0" for name in (*(Path(model).name for model in settings.models), "data")]


def make_tags(root: Path, settings: Promote, state: State) -> list[str]:
    """Tag the commit of the present champion; tags that are there already stay.

    Raises:
        ConfigError: If there is no champion, its commit is not known, or git refuses.
    """
    change = next((event for event in reversed(state.events) if event.action in CHAMPION_CHANGES), None)
    if change is None:
        raise ConfigError("there is no champion to tag", where="registry")
    made_at = next((event.commit for event in state.events if event.version == change.version and event.commit), None)
    if made_at is None:
        raise ConfigError(
            f"the commit of champion {change.version} is not known: it was made from uncommitted code, or outside a "
            "repository",
            where="registry",
            next_step="tag by hand: `faithline promote status` says when it was promoted",
        )
    names = [name for name in tag_names(settings, state) if not _git(root, "tag", "--list", name)]
    for name in names:
        _git(
            root, "tag", "--annotate", name, made_at, "--message", f"{settings.name} {change.version}: {change.reason}"
        )
    return names


def _git(root: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise ConfigError("git is not installed", where="promote tag") from None
    except subprocess.CalledProcessError as error:
        raise ConfigError(f"git refuses: {error.stderr.strip()}", where=" ".join(["git", *arguments[:2]])) from None
    return done.stdout.strip()

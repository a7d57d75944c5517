"""Settings of the world that come from params.yaml, and their checks."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from faithline.pipeline.errors import ConfigError

__all__ = ["Noise", "WorldSettings", "check_share", "check_shares", "check_world"]

FEWEST_DOCUMENTS, MOST_DOCUMENTS = 4, 24
"""A bridge comparison needs four passages; a cluster has some forty of other subjects to fill up with."""
MOST_QUESTIONS = 64
"""Questions a cluster can bear without asking the same twice."""


class Noise(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What stands beside the supporting passages of a question."""

    near_duplicate: float
    """Share of questions with a paraphrase of a supporting passage; as it states the same, it is supporting too."""
    outdated: float
    """Share of questions (of those that need a value that varies) with a passage that states an older one."""
    conflicting: float
    """Share of questions with a passage that quotes a wrong value of a needed fact, and its withdrawal."""
    same_attribute: float
    """Share of the remaining passages that state a needed attribute of another subject."""


class WorldSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How questions are grouped and surrounded."""

    documents_per_question: int
    questions_per_cluster: int
    noise: Noise


def check_world(settings: WorldSettings, where: str) -> None:
    """Refuse settings under which no world can be made.

    Raises:
        ConfigError: Naming the key.
    """
    _check_range(settings.documents_per_question, FEWEST_DOCUMENTS, MOST_DOCUMENTS, f"{where}.documents_per_question")
    _check_range(settings.questions_per_cluster, 1, MOST_QUESTIONS, f"{where}.questions_per_cluster")
    for name, share in msgspec.structs.asdict(settings.noise).items():
        check_share(share, f"{where}.noise.{name}")


def check_share(share: float, where: str) -> None:
    """Refuse a share outside [0, 1].

    Raises:
        ConfigError: Naming the key.
    """
    if not 0.0 <= share <= 1.0:
        raise ConfigError(f"a share must lie between 0 and 1, this is {share}", where=where, next_step="correct it")


def check_shares(shares: Mapping[str, float], where: str) -> None:
    """Refuse shares that are no distribution.

    Raises:
        ConfigError: Naming the key.
    """
    for name, share in shares.items():
        check_share(share, f"{where}.{name}")
    total = sum(shares.values())
    if abs(total - 1.0) > 1e-6:
        raise ConfigError(f"the shares add up to {total:g}, not to 1", where=where, next_step="correct one of them")


def _check_range(value: int, low: int, high: int, where: str) -> None:
    if not low <= value <= high:
        raise ConfigError(f"must lie between {low} and {high}, is {value}", where=where, next_step="correct it")

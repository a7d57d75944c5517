"""Settings of the world that come from params.yaml, and their checks; imports nothing of the world, so it is cheap."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from faithline.pipeline.errors import ConfigError

__all__ = [
    "BiomedicalSettings",
    "BiomedicalTypes",
    "ModelSettings",
    "Noise",
    "ResponseSettings",
    "ResponseTasks",
    "TruthfulSettings",
    "TruthfulShares",
    "WorldSettings",
    "check_biomedical",
    "check_count",
    "check_responses",
    "check_share",
    "check_shares",
    "check_truthful",
    "check_world",
]

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


class TruthfulShares(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Kinds of question."""

    lookup: float
    """One stated fact."""
    two_hops: float
    """A fact about the value of another."""
    comparison: float
    """Which of two subjects exceeds the other."""


class TruthfulSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The TruthfulQA-like set."""

    questions: int
    evidence: bool
    """Whether the passages stand in front of the question."""
    shares: TruthfulShares


class ModelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A pseudo model."""

    name: str
    fault_rate: float
    """Share of its sentences that hallucinate."""


class ResponseTasks(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Kinds of source."""

    qa: float
    summary: float
    data2txt: float


class ResponseSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The RAGTruth-like set."""

    sources: int
    tasks: ResponseTasks
    models: list[ModelSettings]
    subtle: float
    """Share of faults that are subtle."""
    baseless: float
    """Share of faults that add something rather than contradict."""
    test: float
    """Share of sources in the test split."""
    truncated: float
    """Share of responses that break off."""
    refused: float
    """Share of responses that refuse though the source has the answer."""


class BiomedicalTypes(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Kinds of question."""

    factoid: float
    yesno: float
    list: float
    summary: float


class BiomedicalSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The BioASQ-like set."""

    questions: int
    types: BiomedicalTypes
    unquoted_documents: float
    """Share of questions that also list a document without any snippet, as experts do."""


def check_world(settings: WorldSettings, where: str) -> None:
    """Refuse settings under which no world can be made.

    Raises:
        ConfigError: Naming the key.
    """
    _check_range(settings.documents_per_question, FEWEST_DOCUMENTS, MOST_DOCUMENTS, f"{where}.documents_per_question")
    _check_range(settings.questions_per_cluster, 1, MOST_QUESTIONS, f"{where}.questions_per_cluster")
    for name, share in msgspec.structs.asdict(settings.noise).items():
        check_share(share, f"{where}.noise.{name}")


def check_biomedical(settings: BiomedicalSettings, where: str) -> None:
    """Refuse settings that make no sense.

    Raises:
        ConfigError: Naming the key.
    """
    check_count(settings.questions, f"{where}.questions")
    check_shares(msgspec.structs.asdict(settings.types), f"{where}.types")
    check_share(settings.unquoted_documents, f"{where}.unquoted_documents")


def check_responses(settings: ResponseSettings, where: str) -> None:
    """Refuse settings that make no sense.

    Raises:
        ConfigError: Naming the key.
    """
    check_count(settings.sources, f"{where}.sources")
    check_shares(msgspec.structs.asdict(settings.tasks), f"{where}.tasks")
    for name in ("subtle", "baseless", "test", "truncated", "refused"):
        check_share(getattr(settings, name), f"{where}.{name}")
    check_share(settings.truncated + settings.refused, f"{where}.truncated + refused")
    if not settings.models:
        raise ConfigError("no model is listed", where=f"{where}.models", next_step="list at least one")
    names = [model.name for model in settings.models]
    if len(set(names)) < len(names):
        raise ConfigError("two models have the same name", where=f"{where}.models", next_step="rename one")
    for model in settings.models:
        check_share(model.fault_rate, f"{where}.models.{model.name}.fault_rate")


def check_truthful(settings: TruthfulSettings, where: str) -> None:
    """Refuse settings that make no sense.

    Raises:
        ConfigError: Naming the key.
    """
    check_count(settings.questions, f"{where}.questions")
    check_shares(msgspec.structs.asdict(settings.shares), f"{where}.shares")


def check_count(count: int, where: str) -> None:
    """Refuse a negative count.

    Raises:
        ConfigError: Naming the key.
    """
    if count < 0:
        raise ConfigError(f"a count cannot be negative, this is {count}", where=where, next_step="give 0 or more")


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

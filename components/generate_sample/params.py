"""Typed parameters of generate_sample and the checks that types cannot make."""

from __future__ import annotations

import msgspec

from faithline.world.settings import (
    BiomedicalSettings,
    Noise,
    ResponseSettings,
    TruthfulSettings,
    WorldSettings,
    check_biomedical,
    check_count,
    check_responses,
    check_share,
    check_shares,
    check_truthful,
    check_world,
)

__all__ = ["GenerateSample", "HotpotQA", "Musique", "Params", "TwoWiki", "check"]


class HotpotShares(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Kinds of question in the HotpotQA file."""

    single: float
    """One fact."""
    bridge: float
    """Two facts, the second about the value of the first."""
    comparison: float
    """Which of two is larger or earlier, or yes/no."""
    numeric: float
    """Difference or sum."""
    temporal: float
    """An older value, or the years between two events."""


class HotpotQA(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The HotpotQA file."""

    questions: int
    shares: HotpotShares


class TwoWikiShares(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """2WikiMultihopQA's own types."""

    compositional: float
    inference: float
    comparison: float
    bridge_comparison: float


class TwoWiki(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The 2WikiMultihopQA file."""

    questions: int
    shares: TwoWikiShares


class Musique(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The MuSiQue file."""

    questions: int
    three_hops: float
    """Share of questions with three hops; the others have two."""
    unanswerable: float
    """Share of questions whose last fact is stated nowhere."""


class GenerateSample(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Section `generate_sample`."""

    seed: int
    """Of the whole world; independent of the run's seed, so that training seeds leave the data alone."""
    documents_per_question: int
    questions_per_cluster: int
    noise: Noise
    hotpotqa: HotpotQA
    two_wiki: TwoWiki
    musique: Musique
    bioasq: BiomedicalSettings
    ragtruth: ResponseSettings
    truthfulqa: TruthfulSettings

    @property
    def world(self) -> WorldSettings:
        """The part that the world reads."""
        return WorldSettings(
            documents_per_question=self.documents_per_question,
            questions_per_cluster=self.questions_per_cluster,
            noise=self.noise,
        )


class Params(msgspec.Struct, frozen=True, kw_only=True):
    """What the stage reads from params.yaml."""

    generate_sample: GenerateSample


def check(settings: GenerateSample) -> None:
    """Refuse settings that make no sense.

    Raises:
        ConfigError: Naming the key and the remedy.
    """
    where = "params.yaml: generate_sample"
    check_world(settings.world, where)
    check_count(settings.hotpotqa.questions, f"{where}.hotpotqa.questions")
    check_count(settings.two_wiki.questions, f"{where}.two_wiki.questions")
    check_count(settings.musique.questions, f"{where}.musique.questions")
    check_shares(msgspec.structs.asdict(settings.hotpotqa.shares), f"{where}.hotpotqa.shares")
    check_shares(msgspec.structs.asdict(settings.two_wiki.shares), f"{where}.two_wiki.shares")
    check_share(settings.musique.three_hops, f"{where}.musique.three_hops")
    check_share(settings.musique.unanswerable, f"{where}.musique.unanswerable")
    check_biomedical(settings.bioasq, f"{where}.bioasq")
    check_responses(settings.ragtruth, f"{where}.ragtruth")
    check_truthful(settings.truthfulqa, f"{where}.truthfulqa")

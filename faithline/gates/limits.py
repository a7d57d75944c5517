"""The settings of the gates: section `gates` of `params.yaml`.

`limits` hold for every set; `sets.<name>` replaces single ones. `null` means *not checked*, and is the only way to
leave a check out: a set whose documents carry no supporting flags, say, has no irrelevant share, and must say so.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from faithline.pipeline.errors import ConfigError

__all__ = ["DriftLimits", "Gates", "Limits", "Rows", "SetLimits", "check_names", "limits_of"]

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
_ALIKE = 0.8
"""Similarity of names from which on one is taken for a misspelling of the other."""

Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
Size = Annotated[float, msgspec.Meta(ge=0.0, le=1e15)]
"""A number of things; bounded, so that neither NaN nor infinity can stand for "not checked" (that is null)."""
ShareRange = tuple[Share, Share]
"""[least, most], both allowed."""
SizeRange = tuple[Size, Size]
"""[least, most], both allowed."""


def _check_order(limits: msgspec.Struct) -> None:
    for name in limits.__struct_fields__:
        value = getattr(limits, name)
        if isinstance(value, tuple) and value[0] > value[1]:
            raise ValueError(f"`{name}` must be [least, most], is [{value[0]:g}, {value[1]:g}]")


class Rows(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Least number of rows per split."""

    train: Annotated[int, msgspec.Meta(ge=0)]
    validation: Annotated[int, msgspec.Meta(ge=0)]
    test: Annotated[int, msgspec.Meta(ge=0)]


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a set must keep to; shares are of 1."""

    min_rows: Rows | None
    """Rows per split of questions, claims, responses and judgements, each where the set has that table."""
    question_characters: SizeRange | None
    """Length of every question."""
    documents_per_question: SizeRange | None
    max_document_characters: Size | None
    max_empty_documents: Share | None
    """Share of documents without text."""
    max_near_duplicates: Share | None
    """Share of documents that nearly equal an earlier one (noise statistics)."""
    max_unanswerable: Share | None
    """Share of questions whose documents do not hold the answer."""
    irrelevant_share: ShareRange | None
    """Distractors among the documents with a known supporting flag, over all questions (micro average)."""
    max_unknown_supporting: Share | None
    """Share of documents without a known supporting flag."""
    max_unknown_hops: Share | None
    """Share of questions without a known number of reasoning steps."""
    truthful_share: ShareRange | None
    """Share of true reference answers among claims."""
    max_blank_responses: Share | None
    max_mismatched_labels: Share | None
    """Share of hallucination spans that lie outside their response or differ from the text they claim to quote."""
    max_leaked_exact: Share | None
    """Share of evaluation questions that are also in training data (noise statistics). Of responses and judgements:
    share of evaluation documents."""
    max_leaked_ngram: Share | None
    """The same for those that share a run of words with training data (13 unless noise.leakage says otherwise)."""

    def __post_init__(self) -> None:
        """Refuse a range that nothing can lie in."""
        _check_order(self)


class SetLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Limits of one set that differ from those of every set; the same fields as `Limits`."""

    min_rows: Rows | UnsetType | None = UNSET
    question_characters: SizeRange | UnsetType | None = UNSET
    documents_per_question: SizeRange | UnsetType | None = UNSET
    max_document_characters: Size | UnsetType | None = UNSET
    max_empty_documents: Share | UnsetType | None = UNSET
    max_near_duplicates: Share | UnsetType | None = UNSET
    max_unanswerable: Share | UnsetType | None = UNSET
    irrelevant_share: ShareRange | UnsetType | None = UNSET
    max_unknown_supporting: Share | UnsetType | None = UNSET
    max_unknown_hops: Share | UnsetType | None = UNSET
    truthful_share: ShareRange | UnsetType | None = UNSET
    max_blank_responses: Share | UnsetType | None = UNSET
    max_mismatched_labels: Share | UnsetType | None = UNSET
    max_leaked_exact: Share | UnsetType | None = UNSET
    max_leaked_ngram: Share | UnsetType | None = UNSET

    def __post_init__(self) -> None:
        """Refuse a range that nothing can lie in."""
        _check_order(self)


class DriftLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """When data count as drifted from the accepted snapshot."""

    action: Literal["fail", "warn"]
    """fail: drifted data end with exit 20 until they are accepted; warn: they are only reported."""
    max_psi: Size
    """Population stability index of any distribution; 0.1 is usually called small, 0.25 large."""
    significance: Annotated[float, msgspec.Meta(gt=0.0, lt=1.0)]
    """A distribution of few rows must also differ more than chance would, at this level of a chi-squared test."""
    share_floor: Annotated[float, msgspec.Meta(gt=0.0, lt=1.0)]
    """Least share of a category in the index, which divides by it."""
    rows_ratio: SizeRange
    """Rows now over rows accepted, per set and table."""
    vocabulary_buckets: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    """Buckets that words are hashed into; changing it makes old snapshots incomparable."""

    def __post_init__(self) -> None:
        """Refuse a range that nothing can lie in."""
        _check_order(self)


class Gates(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Section `gates` of `params.yaml`."""

    limits: Limits
    """For every set."""
    sets: dict[str, SetLimits]
    """Set name to the limits that differ."""
    drift: DriftLimits


def limits_of(gates: Gates, set_name: str) -> Limits:
    """Return the limits of one set."""
    own = gates.sets.get(set_name, SetLimits())
    changed = {name: value for name in own.__struct_fields__ if (value := getattr(own, name)) is not UNSET}
    return msgspec.structs.replace(gates.limits, **changed)


def check_names(gates: Gates, sets: Iterable[str]) -> None:
    """Refuse set names that are no file names, and limits whose set looks misspelt.

    Limits of a set that is not prepared at the moment may stay in `params.yaml`.

    Raises:
        ConfigError: Naming the set, and the declared one that was probably meant.
    """
    known = sorted(sets)
    for name in known:
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"{name!r} cannot name a set",
                where="params.yaml: prepare_data.sources",
                next_step="use letters, digits, `_`, `-` and `.`, a letter or digit first",
            )
    unlimited = [name for name in known if name not in gates.sets]
    for name in gates.sets:
        if name not in known and (near := difflib.get_close_matches(name, unlimited, n=1, cutoff=_ALIKE)):
            raise ConfigError(
                f"limits for unknown set `{name}`",
                where=f"params.yaml: gates.sets.{name}",
                next_step=f"did you mean `{near[0]}`? Otherwise take them out",
            )

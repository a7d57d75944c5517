"""One source of the settings: which public set, in which form, from where, dealt to which splits."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

import msgspec

__all__ = ["FORMATS", "Format", "Shares", "SourceSettings"]

Format = Literal[
    "2wikimultihopqa",
    "bioasq",
    "contextualjudgebench",
    "facts_grounding",
    "faithbench",
    "faithjudge",
    "hotpotqa",
    "multihop_rag",
    "musique",
    "nq",
    "popqa",
    "ragtruth",
    "truthfulqa",
]
FORMATS: tuple[Format, ...] = get_args(Format)


class Shares(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Expected shares of the splits; they sum to 1."""

    train: float
    """Share of questions that training may see."""
    validation: float
    """Share for choosing settings and checkpoints."""
    test: float
    """Share for evaluation; never used to choose anything."""


class SourceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One public set to read."""

    name: Annotated[str, msgspec.Meta(pattern="^[a-z0-9][a-z0-9_]*$")]
    """Name of the set: first part of every id, so changing it changes every id and split."""
    format: Format
    """Layout of the file; official release, hub form or processed form is told from its content."""
    path: str
    """File, or folder for ragtruth, faithbench and contextualjudgebench; "{root}" stands for prepare_data.root. Remote:
    https://, s3:// or hf://datasets/OWNER/NAME@COMMIT/path, pinned by sources.lock.json."""
    documents: str | None = None
    """A passage file beside the questions: PubMed abstracts for bioasq, the corpus for others; absent = none."""
    limit: Annotated[int, msgspec.Meta(ge=1)] | None
    """Read only the first rows (for ragtruth: sources); null = all."""
    shares: Shares
    """How the set's questions are dealt to train, validation and test."""

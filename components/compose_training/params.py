"""Settings of compose_training; every value comes from params.yaml."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

__all__ = [
    "Checker",
    "ComposeTraining",
    "Critic",
    "CriticShares",
    "Domain",
    "Generator",
    "March",
    "Params",
    "Planner",
    "Proposer",
    "Rows",
    "Selector",
    "Sft",
    "Subset",
]

Count = Annotated[int, msgspec.Meta(ge=1)]
Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
Sets = Annotated[list[str], msgspec.Meta(min_length=1)]
Required = Literal[
    "march.stem",
    "march.general",
    "sft.planner",
    "sft.selector",
    "sft.generator",
    "sft.solver",
    "sft.proposer",
    "sft.checker",
    "critic",
    "evaluation",
]


class Rows(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How many questions of each set, drawn by hash; a larger number keeps those of a smaller one; null = all."""

    train: Count | None
    """Most questions per set of split train."""
    validation: Count | None
    """Most questions per set of split validation."""


class Domain(Rows, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One of MARCH's two training domains."""

    sets: list[str]
    """Sets of data/prepared; one without questions is reported."""


class March(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Queries with documents for PPO."""

    stem: Domain
    general: Domain


class Planner(Rows, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Annotated decomposition steps, one a line."""

    max_steps: Count
    """Questions with more lines are left out: the planner is punished for them."""


class Selector(Rows, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Ids of the helpful documents among shuffled slots."""

    candidates: Count | None
    """Most slots: distractors beyond it are left out by hash, helpful documents never; null = all."""


class Generator(Rows, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The gold answer from helpful documents alone."""

    without_documents: Literal["abstain", "answer"]
    """What an answerable question without helpful documents teaches:
    to abstain, or to answer from memory (MMOA-RAG)."""


class Proposer(Rows, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Questions about the numbers of a response."""

    without_numbers: Rows
    """Questions whose response states no number, in addition: there the role says so."""


class Checker(Rows, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Answers with evidence to questions about numbers."""

    cannot_answer: Share
    """Share of the questions that lose the documents which state the number."""


class Sft(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Supervised rows per role: the first three of HA-MARAG, the others of MARCH."""

    sets: Sets | None
    """Sets of data/prepared; null = all. Each role takes the questions that have what it needs."""
    planner: Planner
    selector: Selector
    generator: Generator
    solver: Rows
    proposer: Proposer
    checker: Checker


class CriticShares(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Expected shares of the critic's parts; they sum to 1."""

    head_selection: Share
    train: Share
    validation: Share
    test: Share


class Critic(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """True and false answers for the risk critic."""

    sets: list[str]
    """Sets of data/prepared with claims."""
    split_seed: int
    """Deals the questions as prepare_data.split_seed does: with the same seed, shares of 0.7, 0.1 and 0.2 there and of
    0.2 + 0.5, 0.1 and 0.2 here agree. A question of split test in a part that is learned from is refused."""
    shares: CriticShares


class Subset(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Questions of split test to evaluate on, with the corpus of their documents."""

    name: Annotated[str, msgspec.Meta(pattern="^[a-z0-9][a-z0-9_]*$")]
    sets: Sets | None
    """Sets of data/prepared; null = all that have questions."""
    select: Literal["first", "draw"]
    """The first questions in the source's order, or those drawn by hash."""
    questions: Count | None
    """Most questions per set; null = all."""


class ComposeTraining(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The stage's section."""

    draw_seed: int
    """Seed of the draws, apart from `seed`: other training seeds leave the data as they are."""
    shared_questions: Literal["fail", "leave_out"]
    """A training question that is asked in split test as well: fail ends the run naming it, leave_out counts it."""
    required: list[Required]
    """What must have rows; anything else without rows is written empty, with a warning."""
    march: March
    sft: Sft
    critic: Critic
    evaluation: Annotated[list[Subset], msgspec.Meta(min_length=1)]


class Params(msgspec.Struct, frozen=True, kw_only=True):
    """What the stage reads of params.yaml."""

    compose_training: ComposeTraining

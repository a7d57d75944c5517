"""The tables that `compose_training` writes, one folder per consumer, field by field.

Rows hold structured fields, never a rendered prompt: the roles of `faithline.agents` render them when training starts.
Documents travel with their text, so a consumer depends on its own folder only and streams it without a join; the
evaluation subsets are ids, for evaluating needs data/prepared anyway. Every table is written, some possibly without
rows. Each field's meaning is stored in the Parquet file itself (field metadata `meaning`).

Invariants: no question of split test is in a training table; a question is in one split or part only; rows stand in
the order of data/prepared, and those of the smaller `order` were drawn first, so a consumer that wants n rows takes
the n smallest and keeps them when n grows.
"""

from __future__ import annotations

from typing import Literal

import pyarrow as pa

__all__ = [
    "CORPUS",
    "CORPUS_FILE",
    "CRITIC",
    "DOCUMENT",
    "DOMAINS",
    "MARCH",
    "PARTS",
    "ROLES",
    "SFT",
    "SUBSETS",
    "SUBSETS_FILE",
    "TRAINING_SPLITS",
    "Domain",
    "Part",
    "Role",
    "TrainingSplit",
    "critic_file",
    "march_file",
    "sft_file",
]

Domain = Literal["stem", "general"]
DOMAINS: tuple[Domain, ...] = ("stem", "general")
Role = Literal["planner", "selector", "generator", "solver", "proposer", "checker"]
ROLES: tuple[Role, ...] = ("planner", "selector", "generator", "solver", "proposer", "checker")
Part = Literal["head_selection", "train", "validation", "test"]
PARTS: tuple[Part, ...] = ("head_selection", "train", "validation", "test")
TrainingSplit = Literal["train", "validation"]
TRAINING_SPLITS: tuple[TrainingSplit, ...] = ("train", "validation")


def _field(name: str, kind: pa.DataType, meaning: str) -> pa.Field:
    return pa.field(name, kind, nullable=False, metadata={"meaning": meaning})


def _item(name: str, kind: pa.DataType, meaning: str) -> pa.Field:
    # Nullability inside a column is part of its type: kept open, so that tables built with plain types fit as well.
    return pa.field(name, kind, metadata={"meaning": meaning})


_ID = _field("question_id", pa.string(), "of the question in data/prepared that the row is made of")
_SET = _field("set", pa.string(), "name of the set in params.yaml")
_ORDER = _field("order", pa.uint64(), "hash of draw seed and question id: sorting by it shuffles, a prefix is a draw")

DOCUMENT = pa.struct(
    [
        _item("document_id", pa.string(), "id in data/prepared"),
        _item("title", pa.string(), 'may be ""'),
        _item("text", pa.string(), "body; never blank"),
    ]
)
_DOCUMENTS = "in the order to show; a document given twice is there once, one without text not at all"

MARCH = pa.schema(
    [
        _ID,
        _SET,
        _ORDER,
        _field("query", pa.string(), "the question as asked"),
        _field("documents", pa.list_(DOCUMENT), f"the evidence {_DOCUMENTS}; at least one"),
    ]
)

PAIR = pa.struct(
    [
        _item("question", pa.string(), "one line; states no answer of the row's pairs"),
        _item("answer", pa.string(), 'the number without commas and per cent sign; "" = cannot be answered'),
        _item(
            "evidence",
            pa.string(),
            'checker: sentence of a document that states the number, title first unless it is in it; "" = none',
        ),
    ]
)

SFT = pa.schema(
    [
        _field("role", pa.string(), ", ".join(ROLES)),
        _ID,
        _SET,
        _ORDER,
        _field("question", pa.string(), 'what the role is asked; "" for the checker, which never sees it'),
        _field(
            "documents",
            pa.list_(DOCUMENT),
            f"what the role is shown, {_DOCUMENTS}. selector: the slots Document0.. in order; generator: gold ones "
            "only, none = the no-document prompt; planner and proposer: none",
        ),
        _field("response", pa.string(), 'proposer: the response to ask about; "" for the others'),
        _field(
            "pairs", pa.list_(PAIR), "proposer: what to ask, in order; checker: what is asked; empty for the others"
        ),
        _field(
            "target", pa.string(), 'the completion to learn, in the grammar of faithline.agents; selector: "" = none'
        ),
    ]
)

CRITIC = pa.schema(
    [
        _field("claim_id", pa.string(), "of the claim in data/prepared"),
        _ID,
        _SET,
        _field("category", pa.string(), "the source's topic"),
        _field("question", pa.string(), "the question"),
        _field("answer", pa.string(), "one reference answer"),
        _field("truthful", pa.bool_(), "true: target risk 0; false: target risk 1"),
        _field("best", pa.bool_(), "best of its kind: a question's two best rows are its Best and Best Incorrect pair"),
    ]
)

SUBSETS = pa.schema(
    [
        _field("subset", pa.string(), "name of the evaluation subset in params.yaml"),
        _SET,
        _field("position", pa.int32(), "place within subset and set, from 0, in the source's order"),
        _field("question_id", pa.string(), "id in data/prepared, of split test"),
    ]
)

CORPUS = pa.schema(
    [
        _field("subset", pa.string(), "name of the evaluation subset in params.yaml"),
        _SET,
        _field("document_id", pa.string(), "a document of one of the subset's questions of this set; each once"),
    ]
)


SUBSETS_FILE = "subsets.parquet"
"""Inside data/training/evaluation, as is the next one."""
CORPUS_FILE = "corpus.parquet"


def march_file(domain: Domain, split: TrainingSplit) -> str:
    """File of a MARCH table inside data/training/march."""
    return f"{domain}/{split}.parquet"


def sft_file(role: Role, split: TrainingSplit) -> str:
    """File of a role's table inside data/training/sft."""
    return f"{role}/{split}.parquet"


def critic_file(part: Part) -> str:
    """File of a part inside data/training/critic."""
    return f"{part}.parquet"

"""HotpotQA's layout as hubs serve it: lists of pairs became structs of columns, or JSON inside a string.

One record reads the hub forms of HotpotQA and 2WikiMultiHopQA: `context {title[], sentences[][]}` (2WikiMultiHopQA also
`content`), `supporting_facts {title[], sent_id[]}`, `evidences {fact[], relation[], entity[]}`. Columns of one struct
must be equally long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from faithline.data.readers.ledger import RowError

__all__ = ["HubRow", "Paragraphs", "pairs_of_context", "pairs_of_facts", "triples"]

Paragraphs = list[tuple[str, list[str]]]
T = TypeVar("T")


class _Context(msgspec.Struct, gc=False):
    title: list[str]
    sentences: list[list[str]] | None = None
    content: list[list[str]] | None = None


class _Facts(msgspec.Struct, gc=False):
    title: list[str]
    sent_id: list[int]


class _Evidences(msgspec.Struct, gc=False):
    fact: list[str]
    relation: list[str]
    entity: list[str]


class HubRow(msgspec.Struct, gc=False):
    """One row of a hub's table."""

    question: str
    context: _Context | str
    id: str = ""
    """HotpotQA's name of the id."""
    underscore_id: str = msgspec.field(name="_id", default="")
    """2WikiMultiHopQA's."""
    answer: str | None = None
    supporting_facts: _Facts | str | None = None
    evidences: _Evidences | str | None = None
    type: str = ""

    @property
    def source_id(self) -> str:
        """The id, whatever its name."""
        return self.id or self.underscore_id


def pairs_of_context(row: HubRow) -> Paragraphs:
    """Return (title, sentences) per paragraph.

    Raises:
        RowError: If the columns differ in length, or JSON in a string is not such a list.
    """
    if isinstance(row.context, str):
        return _parsed("context", row.context, Paragraphs)
    sentences = row.context.sentences if row.context.sentences is not None else row.context.content
    if sentences is None:
        raise RowError("wrong_schema", "context has neither sentences nor content")
    _equal("context", row.context.title, sentences)
    return list(zip(row.context.title, sentences, strict=True))


def pairs_of_facts(row: HubRow) -> list[tuple[str, int]]:
    """Return (title, index of the sentence) per supporting fact; raises as `pairs_of_context`."""
    facts = row.supporting_facts
    if facts is None:
        return []
    if isinstance(facts, str):
        return _parsed("supporting_facts", facts, list[tuple[str, int]])
    _equal("supporting_facts", facts.title, facts.sent_id)
    return list(zip(facts.title, facts.sent_id, strict=True))


def triples(row: HubRow) -> list[tuple[str, str, str]]:
    """Return (subject, relation, object) per piece of evidence; raises as `pairs_of_context`."""
    found = row.evidences
    if found is None:
        return []
    if isinstance(found, str):
        return _parsed("evidences", found, list[tuple[str, str, str]])
    _equal("evidences", found.fact, found.relation, found.entity)
    return list(zip(found.fact, found.relation, found.entity, strict=True))


def _parsed(name: str, text: str, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as error:
        raise RowError("wrong_schema", f"{name} is a string that holds no such JSON: {error}") from error


def _equal(name: str, *columns: Sequence[object]) -> None:
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        raise RowError("wrong_schema", f"the columns of {name} have {lengths} items")

"""Noise put into questions on purpose: distractors added, or documents dropped, until a wanted share is irrelevant.

Per question with g gold and i irrelevant documents and target share t = i / (g + i):

- below the target, `add_distractors` raises i to g t / (1 - t), or `drop_gold` lowers g to i (1 - t) / t;
- above it, irrelevant documents are dropped until i = g t / (1 - t).

Rounding to whole documents leaves the share within 1 / (documents) of the target; what cannot get there (no gold, a
target of 1 with gold left, no more distractors, `max_documents`) is counted. Everything is a function of the settings,
the question and the pool, so neither other questions nor batches matter, and a stronger setting adds to a weaker one.
Drawn documents are put in at drawn places, never at the end, where a model could learn to look past them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from faithline.noise.distractors import DistractorPool, Draws
from faithline.noise.settings import ControlledNoise
from faithline.noise.stream import stream
from faithline.noise.text.hashing import Words, hash_strings, mix

__all__ = ["ControlledTally", "controlled", "perturb", "read_pools"]

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass
class ControlledTally:
    """What became of the questions."""

    questions: int = 0
    reached: int = 0
    """Within 1 / (documents) of the target."""
    not_reached: int = 0
    unknown_flags: int = 0
    """Left as they are (but for `add_distractors`): which of their documents are gold is not known."""
    distractors_added: int = 0
    distractors_lacking: int = 0
    """Wanted, but not to be had: `max_documents`, or the pool has no more."""
    gold_dropped: int = 0
    irrelevant_dropped: int = 0
    made_unanswerable: int = 0
    """Questions that lost their last gold document; `answerable` is false afterwards."""
    partly_supported: int = 0
    """Questions that lost some gold, not all; `answerable` stays."""


@dataclass(frozen=True)
class _Plan:
    """Numbers of documents per question, each of shape (q,)."""

    wanted: Ints
    """Distractors that the settings ask for."""
    add: Ints
    """Those there is room for."""
    drop_gold: Ints
    drop_irrelevant: Ints


def read_pools(prepared: Path, sets: Collection[str]) -> dict[str, DistractorPool]:
    """Read the documents of some sets of the folder `data/prepared`; some 60 bytes a document stay in memory.

    Raises:
        DataInvalid: If the table is missing or corrupt.
    """

    def documents(name: str) -> Iterator[tuple[pa.Array, pa.Array]]:
        for batch in stream(prepared, "documents", ["document_id", "text"], "text"):
            if batch.set_name == name:
                yield batch.rows.column("document_id"), batch.rows.column("text")

    return {name: DistractorPool.of(documents(name)) for name in sets}


def controlled(
    batches: Iterable[pa.Table],
    pools: Mapping[str, DistractorPool],
    settings: ControlledNoise,
    tally: ControlledTally,
) -> Iterator[pa.Table]:
    """Put noise into a stream of questions.

    Args:
        batches: Rows of the questions table, each batch of one set.
        pools: The documents of each set.
        settings: How much noise.
        tally: Takes note of what became of them.

    Yields:
        The batches, with other `documents`, `supporting` and `answerable`.
    """
    for batch in batches:
        if batch.num_rows:
            yield perturb(batch, pools[batch.column("set")[0].as_py()], settings, tally)


def perturb(questions: pa.Table, pool: DistractorPool, settings: ControlledNoise, tally: ControlledTally) -> pa.Table:
    """Put noise into questions of one set; see the module.

    Args:
        questions: Rows of the questions table.
        pool: The documents of their set.
        settings: How much noise.
        tally: Takes note of what became of them.
    """
    documents, supporting = (questions.column(name).combine_chunks() for name in ("documents", "supporting"))
    given = _Given.of(documents, supporting, questions.num_rows)
    seeded = mix(hash_strings(questions.column("question_id").combine_chunks()) + mix(_seed(settings)))
    plan = _plan(given, settings)
    own = pool.keys_of(given.ids)
    draws = pool.draw(seeded, plan.add, own, given.owners)
    kept = given.kept(mix(seeded[given.owners] + own), plan)
    _count(tally, given, plan, np.bincount(draws.owners, minlength=questions.num_rows), settings)
    points = _fractions(mix(seeded[draws.owners] + pool.keys_of(draws.ids)))
    answerable = np.asarray(questions.column("answerable"), dtype=np.bool_)
    lost = (plan.drop_gold > 0) & (plan.drop_gold == given.gold)
    lists = _merged(given, kept, draws, points)
    for name, column in zip(
        ("documents", "supporting", "answerable"), (*lists, pa.array(answerable & ~lost)), strict=True
    ):
        place = questions.schema.get_field_index(name)
        questions = questions.set_column(place, questions.schema.field(place), column)
    return questions


@dataclass(frozen=True)
class _Given:
    """The documents of a batch of questions, one after the other."""

    ids: pa.Array
    owners: Ints
    """Question of each document, shape (d,)."""
    flags: Ints
    """1 = gold, 0 = irrelevant, -1 = unknown; shape (d,)."""
    total: Ints
    """Documents of each question, shape (q,)."""
    gold: Ints
    unknown: Flags
    """Whether a question has a document whose flag is unknown, shape (q,)."""

    @classmethod
    def of(cls, documents: pa.Array, supporting: pa.Array, questions: int) -> _Given:
        owners = np.asarray(pc.list_parent_indices(documents), dtype=np.int64)
        flags = np.asarray(pc.list_flatten(supporting).cast(pa.int8()).fill_null(-1), dtype=np.int64)
        total, gold, unknown = (
            np.bincount(chosen, minlength=questions) for chosen in (owners, owners[flags == 1], owners[flags == -1])
        )
        return cls(pc.list_flatten(documents), owners, flags, total, gold, unknown > 0)

    def kept(self, priorities: Words, plan: _Plan) -> Flags:
        """Say which documents stay: of each kind, those of the lowest priorities go first; shape (d,)."""
        kinds = self.owners * 3 + self.flags + 1
        order = np.lexsort((priorities, kinds))
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order)) - np.searchsorted(kinds[order], kinds[order])
        dropped = np.where(self.flags == 1, plan.drop_gold[self.owners], plan.drop_irrelevant[self.owners])
        kept: Flags = (self.flags == -1) | (rank >= dropped)
        return kept


def _plan(given: _Given, settings: ControlledNoise) -> _Plan:
    room = np.maximum(settings.max_documents - given.total, 0)
    wanted = np.full_like(given.total, settings.add_distractors)
    add, none = np.minimum(wanted, room), np.zeros_like(wanted)
    target = settings.irrelevant_share
    if target is None:
        return _Plan(wanted, add, none, none)
    irrelevant, total = given.total - given.gold + add, given.total + add
    below = ~given.unknown & (irrelevant < target * total)
    above = ~given.unknown & (irrelevant > target * total) & (given.gold > 0)
    # Of the irrelevant documents that g gold ones go with; a target of 1 is out of reach while there is gold.
    fitting = _whole(given.gold * target, 1 - target) if target < 1 else irrelevant
    surplus = np.where(above, np.maximum(irrelevant - fitting, 0), 0)
    spared = np.minimum(add, surplus)  # rather not added than added and dropped
    if settings.raise_by == "drop_gold":
        matching = _whole(irrelevant * (1 - target), target)
        drop = np.where(below & (irrelevant > 0), np.maximum(given.gold - matching, 0), 0)
        return _Plan(wanted - spared, add - spared, drop, surplus - spared)
    more = np.where(below, np.maximum(fitting - irrelevant, 0), 0)
    return _Plan(wanted - spared + more, np.minimum(add - spared + more, room), none, surplus - spared)


def _whole(part: npt.NDArray[np.floating[Any]], of: float) -> Ints:
    """Return part / of as whole documents; a divisor that is nearly 0 asks for more than there can be."""
    whole: Ints = np.rint(part / max(of, 1e-9)).astype(np.int64)
    return whole


def _count(tally: ControlledTally, given: _Given, plan: _Plan, drawn: Ints, settings: ControlledNoise) -> None:
    gold = given.gold - plan.drop_gold
    total = given.total + drawn - plan.drop_gold - plan.drop_irrelevant
    tally.questions += len(total)
    tally.distractors_added += int(drawn.sum())
    tally.distractors_lacking += int((plan.wanted - drawn).sum())
    tally.gold_dropped += int(plan.drop_gold.sum())
    tally.irrelevant_dropped += int(plan.drop_irrelevant.sum())
    lost = plan.drop_gold > 0
    tally.made_unanswerable += int((lost & (gold == 0)).sum())
    tally.partly_supported += int((lost & (gold > 0)).sum())
    if settings.irrelevant_share is not None:
        # |i / n - t| <= 1 / n, times n; a little more for rounding errors of the product.
        off = np.abs(total - gold - settings.irrelevant_share * total)
        reached = ~given.unknown & (total > 0) & (off <= 1 + 1e-9)
        tally.reached += int(reached.sum())
        tally.unknown_flags += int(given.unknown.sum())
        tally.not_reached += int((~given.unknown & ~reached).sum())


def _merged(given: _Given, kept: Flags, draws: Draws, points: npt.NDArray[np.float64]) -> tuple[pa.Array, pa.Array]:
    """Put drawn documents among those that stay; return the new columns documents and supporting."""
    within = np.arange(len(given.owners)) - np.repeat(np.cumsum(given.total) - given.total, given.total)
    places = np.concatenate([((within + 0.5) / given.total[given.owners])[kept], points])
    owners = np.concatenate([given.owners[kept], draws.owners])
    order = np.lexsort((places, owners))
    counts = np.bincount(owners, minlength=len(given.total))
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
    ids = pa.concat_arrays([given.ids.filter(pa.array(kept)), draws.ids]).take(pa.array(order))
    flags = np.concatenate([given.flags[kept], np.zeros(len(draws.owners), dtype=np.int64)])[order]
    supporting = pa.array(flags == 1, mask=flags == -1)
    return pa.ListArray.from_arrays(offsets, ids), pa.ListArray.from_arrays(offsets, supporting)


def _seed(settings: ControlledNoise) -> Words:
    return np.array([settings.seed % (1 << 64)], dtype=np.uint64)


def _fractions(hashes: Words) -> npt.NDArray[np.float64]:
    """Read hashes as numbers in [0, 1)."""
    return (hashes >> np.uint64(11)).astype(np.float64) / float(1 << 53)

"""Every consumer's training set in three passes over the questions, batch by batch.

The first pass draws, the second gathers the documents that the drawn questions show, the third writes the rows. In
memory stay hashes: of the questions of split test, of those drawn, and of the documents shown (`document_texts`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from components.compose_training.critic import claims_by_part
from components.compose_training.document_texts import DocumentTexts
from components.compose_training.draws import Destination, Draws, Flags, draw_keys
from components.compose_training.evaluation import EvaluationSubsets
from components.compose_training.guard import Guard
from components.compose_training.inputs import check_inputs
from components.compose_training.march import march_draw, march_table
from components.compose_training.params import ComposeTraining
from components.compose_training.sft import cases, sft_draws, sft_table
from components.compose_training.shown import documents_of
from components.compose_training.writing import TrainingWriter
from faithline.data.schema import QUESTIONS
from faithline.noise.stream import Batch, stream, table_rows
from faithline.noise.text.hashing import Words, hash_strings
from faithline.training_sets import schema

__all__ = ["CONSUMERS", "Composed", "Consumer", "compose", "rows_to_read"]

Consumer = Literal["march", "sft", "critic", "evaluation"]
CONSUMERS: tuple[Consumer, ...] = ("march", "sft", "critic", "evaluation")

_COLUMNS = [column.name for column in QUESTIONS if column.name != "set"]
_CHUNK_QUESTIONS = 256
"""Questions whose documents are in memory at once: some 10 MB."""
_PASSES = 3

Drawn = Mapping[tuple[str, str], Flags]
"""Which of some questions were drawn, by destination and split, each of shape (n,)."""


@dataclass
class Composed:
    """What became of the questions."""

    rows: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Rows by table (as `required` names it), set, and split, part or subset."""
    left_out: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Questions drawn of which no row could be made, by table and reason."""
    shared: Counter[str] = field(default_factory=Counter)
    """Training questions left out because split test asks them, by set."""

    def of(self, table: str, split: str) -> int:
        """Rows of a table in a split, part or subset, of all sets."""
        return sum(count for (name, _, part), count in self.rows.items() if (name, part) == (table, split))


def rows_to_read(prepared: Path) -> int:
    """Return the rows that `compose` reports as progress; raises DataInvalid if there is no such table."""
    return _PASSES * table_rows(prepared, "questions")


def compose(
    prepared: Path,
    folders: Mapping[Consumer, Path],
    settings: ComposeTraining,
    scratch: Path,
    on_rows: Callable[[int], None],
) -> Composed:
    """Write the training sets.

    Args:
        prepared: The folder data/prepared.
        folders: An empty folder per consumer.
        settings: What to draw.
        scratch: An empty folder for what is needed for the time being, as large as the documents shown at most.
        on_rows: Called with numbers of questions read, for progress.

    Raises:
        ConfigError: If settings contradict each other.
        DataInvalid: If a table is missing, corrupt or of another schema, a document is not there, or a question of
            split test would be trained on.
    """
    check_inputs(prepared)
    with TrainingWriter(_files(folders)) as writer:
        run = _Run(prepared, folders, settings, writer, on_rows)
        run.draw()
        with DocumentTexts(prepared, run.wanted_documents(), scratch / "documents") as texts:
            run.write(texts)
        run.write_claims()
    return run.composed


def _files(folders: Mapping[Consumer, Path]) -> dict[Path, pa.Schema]:
    splits = schema.TRAINING_SPLITS
    march = [schema.march_file(domain, split) for domain in schema.DOMAINS for split in splits]
    sft = [schema.sft_file(role, split) for role in schema.ROLES for split in splits]
    return (
        {folders["march"] / name: schema.MARCH for name in march}
        | {folders["sft"] / name: schema.SFT for name in sft}
        | {folders["critic"] / schema.critic_file(part): schema.CRITIC for part in schema.PARTS}
        | {folders["evaluation"] / schema.SUBSETS_FILE: schema.SUBSETS}
        | {folders["evaluation"] / schema.CORPUS_FILE: schema.CORPUS}
    )


class _Run:
    """One run of `compose`; its methods are called once each, in order."""

    def __init__(
        self,
        prepared: Path,
        folders: Mapping[Consumer, Path],
        settings: ComposeTraining,
        writer: TrainingWriter,
        on_rows: Callable[[int], None],
    ) -> None:
        self.composed = Composed()
        self._prepared, self._folders, self._settings = prepared, folders, settings
        self._writer, self._on_rows = writer, on_rows
        self._guard = Guard(prepared, settings.shared_questions)
        self._march = {domain: march_draw(domain, getattr(settings.march, domain)) for domain in schema.DOMAINS}
        self._sft = sft_draws(settings.sft)
        self._destinations: list[Destination] = [*self._march.values(), *(draw.destination for draw in self._sft)]
        self._draws = Draws(self._destinations)
        self._subsets = EvaluationSubsets(settings.evaluation)

    def draw(self) -> None:
        """Pass 1: let every destination and subset see every question."""
        for batch in self._batches():
            admitted = self._guard.admit(batch, self.composed.shared)
            self._draws.offer(batch.set_name, admitted, self._keys(admitted))
            self._subsets.offer(batch.set_name, batch.rows, self._keys(batch.rows))

    def wanted_documents(self) -> Words:
        """Pass 2: hashes of the documents that the drawn questions show, ascending, each once."""
        wanted = [np.zeros(0, dtype=np.uint64)]
        for batch in self._batches():
            rows, drawn = self._drawn(batch)
            shown = rows.filter(pa.array(_any_of(drawn, rows.num_rows)))
            wanted.append(np.unique(hash_strings(pc.list_flatten(shown.column("documents")))))
        return np.unique(np.concatenate(wanted))

    def write(self, texts: DocumentTexts) -> None:
        """Pass 3: write the rows of questions."""
        for batch in self._batches():
            for questions, corpus in self._subsets.tables(batch.set_name, batch.rows, self._keys(batch.rows)):
                name = questions.column("subset")[0].as_py()
                self._put("evaluation", schema.SUBSETS_FILE, batch.set_name, name, questions)
                self._put("evaluation.corpus", schema.CORPUS_FILE, batch.set_name, name, corpus)
            rows, drawn = self._drawn(batch)
            places = np.flatnonzero(_any_of(drawn, rows.num_rows))
            for start in range(0, len(places), _CHUNK_QUESTIONS):
                chunk = places[start : start + _CHUNK_QUESTIONS]
                part = {place: flags[chunk] for place, flags in drawn.items()}
                self._write_chunk(batch.set_name, rows.take(pa.array(chunk)), part, texts)

    def write_claims(self) -> None:
        """Write the critic's rows."""
        claims = claims_by_part(self._prepared, self._settings.critic, self._guard, self.composed.shared)
        for set_name, part, rows in claims:
            self._put("critic", schema.critic_file(part), set_name, part, rows)

    def _write_chunk(self, set_name: str, rows: pa.RecordBatch, drawn: Drawn, texts: DocumentTexts) -> None:
        keys, shown = self._keys(rows), documents_of(rows, texts)
        for domain, destination in self._march.items():
            for split in schema.TRAINING_SPLITS:
                if (flags := drawn.get((destination.name, split))) is not None:
                    table = march_table(flags, rows, shown, keys)
                    self.composed.left_out[destination.name, "no_text"] += int(flags.sum()) - table.num_rows
                    self._put(destination.name, schema.march_file(domain, split), set_name, split, table)
        by_sft = {place: flags for place, flags in drawn.items() if place[0].startswith("sft.")}
        found = cases(rows, shown, keys, _any_of(by_sft, rows.num_rows))
        for draw in self._sft:
            for split in schema.TRAINING_SPLITS:
                if (flags := drawn.get((draw.destination.name, split))) is not None:
                    table, reasons = sft_table(draw, flags, found, rows)
                    for reason, count in reasons.items():
                        self.composed.left_out[f"sft.{draw.role}", reason] += count
                    self._put(f"sft.{draw.role}", schema.sft_file(draw.role, split), set_name, split, table)

    def _batches(self) -> Iterator[Batch]:
        for batch in stream(self._prepared, "questions", _COLUMNS, "question"):
            yield batch
            self._on_rows(batch.rows.num_rows)

    def _drawn(self, batch: Batch) -> tuple[pa.RecordBatch, Drawn]:
        """The questions of a batch that training may see, and which of them were drawn."""
        rows = self._guard.admit(batch, Counter())
        keys = self._keys(rows)
        return rows, {
            (destination.name, split): flags
            for destination in self._destinations
            for split, flags in self._draws.drawn(destination, batch.set_name, rows, keys).items()
            if flags.any()
        }

    def _keys(self, rows: pa.RecordBatch) -> Words:
        return draw_keys(rows.column("question_id"), self._settings.draw_seed)

    def _put(self, table: str, file: str, set_name: str, split: str, rows: pa.Table) -> None:
        consumer: Consumer = next(name for name in CONSUMERS if name == table.partition(".")[0])
        self.composed.rows[table, set_name, split] += rows.num_rows
        self._writer.write(self._folders[consumer] / file, rows)


def _any_of(drawn: Drawn, questions: int) -> Flags:
    """Which questions were drawn by anyone, shape (n,)."""
    anyone: Flags = np.logical_or.reduce([np.zeros(questions, dtype=np.bool_), *drawn.values()])
    return anyone

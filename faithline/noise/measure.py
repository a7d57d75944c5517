"""All noise statistics of a prepared folder, as one plain mapping that is the same for the same tables and settings."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from faithline.data.schema import TABLES
from faithline.noise.findings import Json, finding
from faithline.noise.leakage import leakage_report, meet
from faithline.noise.set_codes import SetCodes
from faithline.noise.settings import Noise
from faithline.noise.stream import table_rows
from faithline.noise.tables.asked import Asked, LongAnswers
from faithline.noise.tables.claims import Claims
from faithline.noise.tables.documents import Documents
from faithline.noise.tables.judgements import Judgements
from faithline.noise.tables.questions import Questions
from faithline.noise.tables.responses import Responses

__all__ = ["Report", "measure", "rows_to_read"]

Report = dict[str, Json]

_MOST_THREADS = 4
"""More would not be fed: one thread decodes the tables."""


def rows_to_read(prepared: Path) -> int:
    """Return the number of rows that `measure` counts, for progress.

    Raises:
        DataInvalid: If a table is missing or corrupt.
    """
    return sum(table_rows(prepared, table) for table in TABLES)


def measure(
    prepared: Path, settings: Noise, on_rows: Callable[[int], None], scratch_parent: Path | None = None
) -> Report:
    """Measure the noise of prepared tables.

    Args:
        prepared: The folder `data/prepared`.
        settings: Section `noise`.
        on_rows: Called with the number of rows just counted.
        scratch_parent: Where scratch files go for the time being, about as large as the text of the documents at most;
            None = the system's folder for such files.

    Returns:
        `sets`: by set, and in it by table, with `leakage`.
        `leakage`: how it was measured, and each pair of training and evaluation data that met.

    Raises:
        DataInvalid: If a table is missing, corrupt, lacks a column or has an unknown split.
        ConfigError: If there are more than 64 sets.
    """
    threads = max(1, min(_MOST_THREADS, len(os.sched_getaffinity(0))))
    with (
        tempfile.TemporaryDirectory(prefix="noise-", dir=scratch_parent) as folder,
        ThreadPoolExecutor(threads, thread_name_prefix="noise") as pool,
    ):
        scratch, sets = Path(folder), SetCodes()
        documents = Documents(prepared, settings, scratch, sets)
        documents.run(pool, 2 * threads, on_rows)
        asked = Asked(prepared, scratch, settings)
        long_answers = LongAnswers(documents.grams, len(documents.index), settings, documents.window)
        questions, claims = Questions(settings, sets), Claims(settings, sets)
        responses, judgements = Responses(settings, sets), Judgements(settings, sets)
        questions.run(prepared, documents.index, asked, long_answers, on_rows)
        claims.run(prepared, asked, long_answers, on_rows)
        responses.run(prepared, documents.index, asked, on_rows)
        judgements.run(prepared, documents.index, asked, on_rows)
        tables: dict[str, dict[str, Json]] = {
            "questions": _with_golds(questions, prepared, settings),
            "documents": documents.report(),
            "claims": claims.report(),
            "responses": responses.report(),
            "judgements": judgements.report(),
        }
        met = meet(documents, asked, long_answers)
    found: Json = {}
    for code, name in sorted(enumerate(sets.names), key=lambda entry: entry[1]):
        leaked = {kind: items.of_set(code) for kind, items in met.items()}
        found[name] = {table: figures[name] for table, figures in tables.items() if name in figures} | {
            "leakage": leaked
        }
    return {"sets": found, "leakage": leakage_report(met, sets, settings.leakage, documents.window)}


def _with_golds(questions: Questions, prepared: Path, settings: Noise) -> dict[str, Json]:
    found = questions.report()
    ids = questions.golds.contradicting(prepared)
    for name, figures in found.items():
        wrong = ids.get(name, [])
        figures["contradicting_golds"] = finding(len(wrong), questions.count(name), wrong[: settings.examples])
    return found

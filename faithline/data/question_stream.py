"""A file of questions as a stream of table rows, decoded by several processes where the file is worth it.

This process cuts the file into chunks of raw rows and settles the results in the order of the file; a chunk is decoded,
checked and turned into columns by a pure function, in a worker process or right here. Chunks are the same either way,
so the tables do not depend on the number of workers, down to their bytes. The first bad row of the file ends the run,
whichever worker meets its own first.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import connection, get_context, parent_process
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from faithline.data.batches import batches
from faithline.data.document_store import DocumentStore
from faithline.data.question_table import QuestionBatch, question_batch, settle
from faithline.data.readers.json_rows import OnBytes, RawRow
from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.records import Question
from faithline.data.readers.variants import QuestionFormat, Variant, decode_questions, open_records
from faithline.data.repeats import RepeatFilter
from faithline.data.splits import Splitter
from faithline.pipeline.errors import OutOfMemory

__all__ = ["question_stream", "worker_count"]

_CHUNK_BYTES = 4 * 2**20
_PARALLEL_BYTES = 64 * 2**20
"""A smaller file is decoded here: starting workers costs about as long as decoding 20 MB."""
_MOST_WORKERS = 4
"""More than four wait for this process, which cuts and settles."""

T = TypeVar("T")
R = TypeVar("R")
Decoded = tuple[QuestionBatch, RowLedger]


def worker_count(file_bytes: int) -> int:
    """Return how many processes should decode a file; 0 = this one."""
    cores = len(os.sched_getaffinity(0))
    return min(cores, _MOST_WORKERS) if cores > 1 and file_bytes >= _PARALLEL_BYTES else 0


def question_stream(
    path: Path,
    form: QuestionFormat,
    splitter: Splitter,
    store: DocumentStore,
    ledger: RowLedger,
    *,
    limit: int | None,
    workers: int,
    on_bytes: OnBytes,
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Turn a set's questions into table rows, batch by batch.

    Args:
        path: The file.
        form: Its format.
        splitter: Deals the splits; its set name becomes the first part of every id.
        store: The set's documents so far.
        ledger: Takes note of every row.
        limit: Read only the first `limit` rows; None = all.
        workers: Processes that decode; 0 = this one.
        on_bytes: Progress.

    Yields:
        Rows of QUESTIONS, and rows of DOCUMENTS that appear in them for the first time.

    Raises:
        DataInvalid: If the file cannot be read, fits no variant, or has a bad row and the ledger says fail.
        OutOfMemory: If a worker was killed.
    """
    variant, rows = open_records(path, form, ledger, limit, on_bytes)
    decode = partial(_decode, variant=variant, open_domain=form.open_domain, splitter=splitter, ledger=ledger.apart())
    chunks = batches(rows, lambda row: len(row.data), _CHUNK_BYTES)
    repeats = RepeatFilter(ledger)
    for batch, counts in _in_order(decode, chunks, workers) if workers else map(decode, chunks):
        ledger.take_over(counts)
        yield settle(batch, repeats, store, ledger)


def _decode(
    rows: Sequence[RawRow],
    *,
    variant: Variant[Any, Question],
    open_domain: bool,
    splitter: Splitter,
    ledger: RowLedger,
) -> Decoded:
    """Decode a chunk; `ledger` is empty and gives the rules."""
    counts = ledger.apart()
    questions = list(decode_questions(rows, variant, counts, open_domain=open_domain))
    return question_batch(questions, splitter), counts


def _in_order(function: Callable[[T], R], items: Iterable[T], workers: int) -> Iterator[R]:
    """Map in worker processes; at most two items a worker are on their way, so memory does not grow."""
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker)
    pending: deque[Future[R]] = deque()
    try:
        for item in items:
            if len(pending) >= 2 * workers:
                yield pending.popleft().result()
            pending.append(pool.submit(function, item))
        while pending:
            yield pending.popleft().result()
    except BrokenProcessPool as error:
        raise OutOfMemory(
            "a process that decodes rows was killed, most likely for lack of memory",
            next_step="give the stage more memory, or fewer cores",
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _start_worker() -> None:
    """Leave interruptions to the parent, and end with it, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)

"""Read the public sets into one schema, with splits by question.

Writes data/prepared (questions, documents, claims, responses and judgements as Parquet, and sources.json) and
metrics/prepare_data.json. Remote sources are fetched to the user cache first, checked against sources.lock.json.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from components.prepare_data.params import Params
from faithline.pipeline.machine import cache_folder
from faithline.pipeline.records import write_json
from faithline.pipeline.stage import StageContext, main

if TYPE_CHECKING:
    from faithline.data.raw_source import RawSource


def run(ctx: StageContext[Params]) -> dict[str, float | int]:
    """Prepare every source that the settings name."""
    from components.prepare_data.prepare import SourceReport, prepare

    def report(done: SourceReport) -> None:
        name = done.source.settings.name
        for ledger in [done.ledger, *([done.passages] if done.source.documents else [])]:
            ctx.log.info("read", source=ledger.source, variant=ledger.variant, rows=ledger.rows, kept=ledger.kept)
            if ledger.noticed:
                ctx.log.info("odd but kept", source=name, **ledger.noticed)
            if ledger.skipped:
                ctx.log.warning("rows skipped", source=name, **ledger.skipped)
                ctx.log.record("skipped rows", source=name, examples=ledger.examples)

    settings = ctx.params.prepare_data
    with _sources(ctx) as sources:
        total_bytes = sum(file.stat().st_size for source in sources for file in source.files())
        with ctx.progress(total_bytes, "B", "reading") as progress:
            metrics = prepare(settings, sources, ctx.out("data/prepared"), progress.advance, report)
    write_json(ctx.out("metrics/prepare_data.json"), metrics)
    return metrics


@contextmanager
def _sources(ctx: StageContext[Params]) -> Iterator[list[RawSource]]:
    """Resolve the sources in the order of the settings; links to fetched ones live as long as the context."""
    from components.prepare_data.sources import local_sources, remote_sources, remote_uris
    from faithline.data.remote import LOCK_FILE, fetch, read_lock

    settings = ctx.params.prepare_data
    found = local_sources(settings, ctx.dep)
    with TemporaryDirectory(prefix="faithline-sources-") as scratch:
        uris = remote_uris(settings)
        if uris:
            lock = read_lock(ctx.dep(LOCK_FILE))
            cache = cache_folder(os.environ, Path.home())
            total_bytes = sum(lock[uri].bytes for uri in uris if uri in lock)
            with ctx.progress(total_bytes, "B", "fetching") as progress:
                fetched = partial(fetch, lock=lock, cache=cache, on_bytes=progress.advance)
                remote = remote_sources(settings, ctx.dep, fetched, Path(scratch))
                found |= {source.settings.name: source for source in remote}
        yield [found[source.name] for source in settings.sources]


if __name__ == "__main__":
    main("prepare_data", Params, run)

"""Read the raw public sets into one schema, with splits by question.

Writes data/prepared (questions, documents, claims, responses as Parquet, and sources.json) and
metrics/prepare_data.json.
"""

from __future__ import annotations

from components.prepare_data.params import Params
from faithline.pipeline.records import write_json
from faithline.pipeline.stage import StageContext, main


def run(ctx: StageContext[Params]) -> dict[str, float | int]:
    """Prepare every source that the settings name."""
    from components.prepare_data.prepare import RawSource, SourceReport, prepare

    settings = ctx.params.prepare_data
    sources = [RawSource(source, ctx.dep(source.path.replace("{root}", settings.root))) for source in settings.sources]

    def report(done: SourceReport) -> None:
        ledger, name = done.ledger, done.source.settings.name
        ctx.log.info("read", source=name, variant=ledger.variant, rows=ledger.rows, kept=ledger.kept)
        if ledger.noticed:
            ctx.log.info("odd but kept", source=name, **ledger.noticed)
        if ledger.skipped:
            ctx.log.warning("rows skipped", source=name, **ledger.skipped)
            ctx.log.record("skipped rows", source=name, examples=ledger.examples)

    total_bytes = sum(file.stat().st_size for source in sources for file in source.files())
    with ctx.progress(total_bytes, "B", "reading") as progress:
        metrics = prepare(settings, sources, ctx.out("data/prepared"), progress.advance, report)
    write_json(ctx.out("metrics/prepare_data.json"), metrics)
    return metrics


if __name__ == "__main__":
    main("prepare_data", Params, run)

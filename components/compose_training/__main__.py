"""Turn the prepared data into one training set per consumer.

Writes data/training/march, sft, critic and evaluation (tables: faithline.training_sets.schema) and
metrics/compose_training.json. Runs only behind an open gate (data/gate.json).
"""

from __future__ import annotations

from tempfile import TemporaryDirectory

from components.compose_training.params import Params
from faithline.pipeline.records import write_json
from faithline.pipeline.stage import StageContext, main


def run(ctx: StageContext[Params]) -> dict[str, int]:
    """Compose, count, and refuse a run without what is required."""
    from pathlib import Path

    from components.compose_training.compose import CONSUMERS, compose, rows_to_read
    from components.compose_training.outcome import empty_tables, flat_metrics, missing_sets, require

    settings, prepared = ctx.params.compose_training, ctx.dep("data/prepared")
    ctx.dep("data/gate.json")
    folders = {name: ctx.out(f"data/training/{name}") for name in CONSUMERS}
    with (
        TemporaryDirectory(prefix="faithline-training-") as scratch,
        ctx.progress(rows_to_read(prepared), "questions", "composing") as progress,
    ):
        composed = compose(prepared, folders, settings, Path(scratch), progress.advance)
    for table, set_name in missing_sets(composed, settings):
        ctx.log.warning("no rows of a set", table=table, set=set_name)
    for table, split in empty_tables(composed, settings):
        ctx.log.warning("empty table", table=table, split=split)
    if composed.shared:
        ctx.log.warning("training questions that split test asks were left out", **composed.shared)
    require(composed, settings)
    metrics = flat_metrics(composed, settings)
    write_json(ctx.out("metrics/compose_training.json"), metrics)
    return metrics


if __name__ == "__main__":
    main("compose_training", Params, run)

"""Write the embedded evidence-world sample: invented facts, questions, answers and responses in public formats."""

from __future__ import annotations

from components.generate_sample.params import Params, check
from faithline.pipeline.stage import StageContext, main


def run(ctx: StageContext[Params]) -> dict[str, float | int | str]:
    """Check the settings, write the files, count their rows."""
    from components.generate_sample.write import items_total, write_sample

    settings = ctx.params.generate_sample
    check(settings)
    with ctx.progress(items_total(settings), "item", "generate") as progress:
        counts = write_sample(ctx.out("data/raw/sample"), settings, progress.advance)
    return {**counts}


if __name__ == "__main__":
    main("generate_sample", Params, run)

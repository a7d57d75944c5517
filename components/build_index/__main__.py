"""Embed every document of data/prepared into data/index."""

from __future__ import annotations

from components.build_index.params import Params
from faithline.pipeline.records import write_json
from faithline.pipeline.stage import StageContext, main


def run(ctx: StageContext[Params]) -> dict[str, float | int]:
    """Run the stage."""
    from components.build_index.build import build, read_corpus

    corpus = read_corpus(ctx.dep("data/prepared"))
    with ctx.progress(corpus.num_rows, "documents", "embedding") as progress:
        counts = build(
            corpus, ctx.dep("models/embedder"), ctx.out("data/index"), ctx.params.build_index, progress.advance
        )
    write_json(ctx.out("metrics/build_index.json"), counts)
    return counts


if __name__ == "__main__":
    main("build_index", Params, run)

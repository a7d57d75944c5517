"""Score data/answers against data/prepared: EM, F1, answer rate and others, with bootstrap intervals per slice."""

from __future__ import annotations

from components.evaluate.params import Params
from faithline.pipeline.records import write_json
from faithline.pipeline.stage import StageContext, main


def run(ctx: StageContext[Params]) -> dict[str, float | int | str]:
    """Write items, slices, the flat metrics and the plot table."""
    import msgspec
    import pyarrow.parquet as pq

    from components.evaluate.answers import read_answers
    from components.evaluate.items import join, score_items
    from components.evaluate.summary import evaluation, flat_metrics, plot_rows
    from faithline.data.prepared import questions

    settings = ctx.params.evaluate
    answers = read_answers(ctx.dep("data/answers") / "answers.parquet")
    asked, unanswered = join(answers, questions(ctx.dep("data/prepared")))
    ctx.log.info("scoring", answers=asked.num_rows, unanswered=sum(unanswered.values()))
    items = score_items(asked, settings.normalisation)
    result = evaluation(items, settings)
    flat = flat_metrics(result, unanswered)

    folder = ctx.out("data/evaluation")
    pq.write_table(items, folder / "items.parquet", compression="zstd")
    write_json(folder / "slices.json", msgspec.to_builtins(result))
    write_json(ctx.out("metrics/evaluate.json"), flat)
    ctx.out("plots/evaluate.csv").write_text(plot_rows(result), encoding="utf-8")
    return {key: flat["all"][key] for key in ("n", "em", "f1", "answer_rate", "failure_rate") if key in flat["all"]}


if __name__ == "__main__":
    main("evaluate", Params, run)
